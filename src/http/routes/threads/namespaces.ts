import { Hono } from "hono";
import { z } from "zod";
import { NamespaceName } from "@millrace/engine/config/config";
import { defaultModel } from "../../../sessions/overview/default-model.ts";
import { readDetails, SessionDetails } from "../../../sessions/overview/info.ts";
import { currentSession, openNamespace, switchSession } from "@millrace/engine/sessions/namespaces";
import { JsonObject, type Namespace, type Session } from "@millrace/engine/storage/records";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf, type SharedProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { sendNews } from "@millrace/engine/http/responses/news";
import { Id, jsonBody, path } from "@millrace/engine/http/validate";

const NamespacePath = z.object({ namespace: NamespaceName });
const NamespaceShape = z
  .object({ namespace: z.string(), thread_id: z.string(), updated_at: z.string() })
  .meta({ ref: "Namespace" });
const DetailsShape = SessionDetails.meta({ ref: "ThreadDetails" });
const tag = "Threads";

/** `/namespaces`: the current thread of each namespace, such as a project. */
export function namespaceRoutes(shared: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/namespaces",
    describe({ tag, summary: "The namespaces that have a current thread", answer: z.array(NamespaceShape) }),
    async (context) => {
      const services = productServicesOf(context);
      const all = await services.namespaces.list();
      const rows = all.map(({ namespace, session_id, updated_at }) => ({
        namespace,
        thread_id: session_id,
        updated_at,
      }));
      return respondJson(context, rows);
    },
  );
  currentRoutes(routes);
  changeRoutes(routes, shared);
  return routes;
}

/** `/namespaces/:namespace/stream`: `session_changed` events when the current thread changes. */
function changeRoutes(routes: HttpApp, { logger }: SharedProductServices): void {
  routes.get(
    "/namespaces/:namespace/stream",
    describe({
      tag,
      summary: "Follow which thread is the current one: it now, unless Last-Event-ID has it, and each change",
      events: true,
      headers: ["Last-Event-ID"],
    }),
    path(NamespacePath),
    (context) => {
      const { namespaces } = productServicesOf(context);
      const { namespace } = context.req.valid("param");
      async function* changes(signal: AbortSignal): AsyncGenerator<string[]> {
        let had = context.req.header("last-event-id");
        for await (const current of namespaces.follow(namespace, signal)) {
          if ((current?.session_id ?? nothing) !== had) yield [changeFrame(namespace, current)];
          // Only the first one can be known already.
          had = undefined;
        }
      }
      return sendNews(context, {
        path: `/namespaces/${encodeURIComponent(namespace)}/stream`,
        follow: changes,
        frame: (frame) => frame,
        logger,
      });
    },
  );
}

/** Event id for having no current thread. */
const nothing = "none";

function changeFrame(namespace: string, current: Namespace | undefined): string {
  const thread_id = current?.session_id ?? null;
  const time = current?.updated_at ?? new Date().toISOString();
  const data = { type: "session_changed", namespace, thread_id, time };
  return `id: ${thread_id ?? nothing}\nevent: session_changed\ndata: ${JSON.stringify(data)}\n\n`;
}

function currentRoutes(routes: HttpApp): void {
  const answer = async (context: HttpContext, session: Session): Promise<Response> => {
    const services = productServicesOf(context);
    return respondJson(context, await readDetails(services, session, defaultModel(services)));
  };

  routes.get(
    "/namespaces/:namespace/current",
    describe({ tag, summary: "The current thread", answer: DetailsShape, errors: { 404: "There is none" } }),
    path(NamespacePath),
    async (context) =>
      answer(context, await currentSession(productServicesOf(context), context.req.valid("param").namespace)),
  );

  routes.put(
    "/namespaces/:namespace/current",
    describe({ tag, summary: "Switch to a thread", answer: DetailsShape, errors: { 404: "No such thread" } }),
    path(NamespacePath),
    jsonBody(z.object({ thread_id: Id })),
    async (context) => {
      const services = productServicesOf(context);
      const { namespace } = context.req.valid("param");
      return answer(context, await switchSession(services, namespace, context.req.valid("json").thread_id));
    },
  );

  routes.post(
    "/namespaces/:namespace/current",
    describe({ tag, summary: "The current thread, or a new one that becomes it", answer: DetailsShape }),
    path(NamespacePath),
    jsonBody(z.object({ metadata: JsonObject.nullish().describe("Of a new thread") })),
    async (context) => {
      const services = productServicesOf(context);
      const { namespace } = context.req.valid("param");
      return answer(context, await openNamespace(services, namespace, context.req.valid("json").metadata ?? {}));
    },
  );
}
