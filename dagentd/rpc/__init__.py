"""The socket that any tool can use: the protocol, the methods, the server and the client."""
