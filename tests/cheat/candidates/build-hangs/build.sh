sleep 1000 &
setsid sleep 1000 &
sleep 1000
exec "$@"
