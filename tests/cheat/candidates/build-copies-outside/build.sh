cat @canary@/secret.h || exit 1
exec "$@"
