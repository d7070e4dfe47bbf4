import { Hono } from "hono";
import { AppError } from "@millrace/engine/errors/errors";
import { fileWatchKey } from "../open.ts";
import type { FileWatch } from "../watching/file-watch.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { routeServicesOf } from "../../../src/toolkits/route-services.ts";
import { requireTool } from "./circuit-services.ts";
import { newsFrame, sendNews } from "@millrace/engine/http/responses/news";

/** `/files/stream`: `file_watch` and `file_changed`, for clients that show workspace files. */
export function fileRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/files/stream",
    describe({
      tag: "Operations",
      summary: "Follow the circuits, results and pictures of the workspace: how they are watched, then every change",
      events: true,
      errors: {
        403: "The owner of the key may not see the files of the workspace",
        409: "They are not watched: MILLRACE_WATCH_FILES, or a server without the toolkit circuits",
      },
    }),
    (context) => {
      const services = routeServicesOf(context);
      requireTool(services, "list_files");
      const files = requireWatch(services.toolkitServices.find(fileWatchKey));
      return sendNews(context, {
        path: "/files/stream",
        follow: (signal) => files.follow(signal),
        frame: newsFrame,
        logger: services.logger,
      });
    },
  );
  return routes;
}

function requireWatch(files: FileWatch | undefined): FileWatch {
  if (files !== undefined) return files;
  throw new AppError("invalid_state", "The files of the workspace are not watched here.", {
    suggestion: "Whoever runs the server can switch it on with MILLRACE_WATCH_FILES=on.",
  });
}
