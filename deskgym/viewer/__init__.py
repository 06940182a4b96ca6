"""The viewer: recorded episodes as one HTML page that needs neither a network nor a server."""
