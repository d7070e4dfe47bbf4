import type { MiddlewareHandler } from "hono";
import { AppError } from "../../errors/errors.ts";
import type { HttpEnvironment } from "../environment.ts";

/** What tells whether the server is up has to answer when it has much to do. */
const healthPath = "/ok";

/**
 * Refuses what would be one request too many at the same time, with 429 and Retry-After. One handler counts for all
 * apps it is given to. A request counts until its answer has gone out whole, so those that follow a run count as long as they do.
 */
export function limitRequests(most: number): MiddlewareHandler<HttpEnvironment> {
  let open = 0;
  return async (context, next) => {
    if (context.req.path === healthPath) return next();
    if (open >= most) {
      throw new AppError("rate_limit", `The server answers ${most} requests at the same time, and this is one more.`, {
        suggestion: "Send it again in a moment.",
        recoverable: true,
      });
    }
    const { incoming, outgoing, acceptSocket } = context.env;
    // What becomes a WebSocket is answered on the connection itself.
    const line = acceptSocket === undefined ? outgoing : incoming.socket;
    // Whose client has left meanwhile tells no end any more.
    if (line.destroyed) return next();
    open += 1;
    line.once("close", () => {
      open -= 1;
    });
    return next();
  };
}
