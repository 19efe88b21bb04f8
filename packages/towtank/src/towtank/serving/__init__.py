"""What is served over sockets: HTTP with TLS, and watches."""
