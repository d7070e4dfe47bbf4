import type { Callback } from "./callback.ts";

/** The callbacks of this server, in the order in which they are called. A new one is a file and a line here. */
export const callbacks: readonly Callback[] = [];
