cat > /tmp/connect.cpp <<'END'
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

int main() {
  int const descriptor = socket(AF_INET, SOCK_STREAM, 0);
  if (descriptor < 0) return perror("Error: socket"), 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(@port@);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return perror("Error: connect"), 1;
  return 0;
}
END
g++ -o /tmp/connect /tmp/connect.cpp && /tmp/connect && exec "$@"
exit 1
