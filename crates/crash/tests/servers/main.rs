//! What real databases recover. Needs root and the servers.

mod recovered;
