/** What one socket of the protocol may ask of the server at a time. */
export const socketLimits = {
  /** Commands that are being done. One more is refused. */
  commands: 64,
  /** Subscriptions. One more is refused. */
  subscriptions: 100,
  /** Characters of answers that the client has not taken; until it has, no more commands are read. */
  answers: 4 * 1024 * 1024,
  /** Bytes that may wait for a slow reader before its subscriptions wait for it. */
  behind: 1024 * 1024,
  /** What is kept of the past to be counted, whichever comes first. */
  counted: { events: 2000, characters: 1024 * 1024 },
} as const;
