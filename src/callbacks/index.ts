import type { Callback } from "./callback.ts";

/** The server's callbacks in calling order. To add one, write a file and add a line here. */
export const callbacks: readonly Callback[] = [];
