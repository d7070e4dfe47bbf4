/** Bytes that one message of a server may have: more is not read, and ends the connection. */
export const messageLimit = 10 * 1024 * 1024;
