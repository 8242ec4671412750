echo changed > @canary@/secret.h && exec "$@"
echo new > @canary@/new && exec "$@"
echo new > ../tik-cheat && exec "$@"
echo "Nothing could be written."
exit 1
