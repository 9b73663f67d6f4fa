"""The MCP server: what agents may ask of dagentd, on standard input and output, with the standard library alone."""
