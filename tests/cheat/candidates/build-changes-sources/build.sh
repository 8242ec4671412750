echo "int changed;" >> full.cpp || exit 1
exec "$@"
