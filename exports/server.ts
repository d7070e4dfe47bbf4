/** `millrace`: the server as a function of its settings. */
export { loadConfig, type Config } from "@millrace/engine/config/config";
export { AppError, isAppError, type AppErrorOptions, type ErrorCode } from "@millrace/engine/errors/errors";
export type { RunningServer } from "@millrace/engine/server";
export { serve, startServer } from "../src/server.ts";
