import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { Config } from "../config.ts";
import type { Graphs } from "../graph/load.ts";
import type { Logger } from "../logger.ts";
import type { Runs } from "../runs/runs.ts";
import type { Storage } from "../storage/storage.ts";

/** What the HTTP layer is given by `server.ts`. */
export interface HttpServices {
  config: Config;
  storage: Storage;
  runs: Runs;
  graphs: Graphs;
  logger: Logger;
}

/** What a handler finds on its context: node's own request and response, and the request's id. */
export interface HttpEnvironment {
  Bindings: HttpBindings;
  Variables: { requestId: string; bodyLimit: number };
}

/** A request under way. */
export type HttpContext = Context<HttpEnvironment>;
/** An app, or the routes of one resource. */
export type HttpApp = Hono<HttpEnvironment>;
