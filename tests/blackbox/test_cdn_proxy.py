"""Which requests to the media server go through the proxy. In a network with loopback alone: nobody is reached."""

import socket
import threading

from alone import go_alone
from harness import main
from test_media_in import Media


class Proxy:
    """Refuses every tunnel and remembers what it was asked for."""

    def __init__(self):
        self.asked = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            with conn:
                self.asked.append(conn.recv(65536).decode())
                conn.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Proxied(Media):
    def setUp(self):
        super().setUp()
        self.proxy = Proxy()
        self.addCleanup(self.proxy.close)
        self.kairo.config(network__proxy=self.proxy.url, media__merge_ms=0)

    def fetch(self):
        """A file at WeChat's own address, which is on this machine when that one fails."""
        self.kairo.start()
        self.sim.inject_file(b"here", name="a.txt",
                             full_url="https://novac2c.cdn.weixin.qq.com/c2c/download?secret=1")
        self.assertIn("text/plain, 4 B, ", self.prompt())

    def test_the_proxy_of_the_settings(self):
        self.fetch()
        self.assertEqual(len(self.proxy.asked), 1)
        self.assertRegex(self.proxy.asked[0], r"^CONNECT novac2c\.cdn\.weixin\.qq\.com:443 ")
        self.assertNotIn("secret", self.proxy.asked[0])
        self.assertNotIn("Bearer", self.proxy.asked[0])

    def test_none_for_the_media_server_when_it_is_reached_directly(self):
        self.kairo.config(ilink__cdn_direct=True)
        self.fetch()
        self.assertEqual(self.proxy.asked, [])


if __name__ == "__main__":
    go_alone()
    main()
