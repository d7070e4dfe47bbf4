import { describedRoutes, type DescribedRoute } from "../../support/requests/described-routes.ts";
import {
  contentTypes,
  foreignHosts,
  foreignOrigins,
  sendAs,
  statusForHost,
} from "../../support/requests/foreign-requests.ts";
import { contentOf } from "../harness/database.ts";
import { noneOf, type Scenario } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { beginSubject, settled } from "../harness/subject.ts";
import { openWorld, type World } from "../harness/world.ts";

interface Foreign {
  route: DescribedRoute;
  headers: Record<string, string>;
  /** The only right answer. */
  status: number;
}

/** Every route for every foreign Host and Origin and every kind of body: refused, and nothing changes (reliability S1). */
export const gate: Scenario = {
  name: "gate",
  async run() {
    const world = await openWorld(answer);
    const { server } = world;
    try {
      const subject = await beginSubject(world, "approval", "gate");
      await settled(world, subject, 30_000);
      const { routes } = await describedRoutes({ send: (method, path) => fetch(server.url + path, { method }) });
      for (const path of ["/openapi.json", "/docs", "/docs/start.js"]) {
        routes.push({ method: "GET", path, parameters: [], body: undefined });
      }
      const before = contentOf(server.databaseFile);
      const passed: string[] = [];
      const requests = foreignRequests(routes);
      for (const { route, headers, status } of requests) {
        const got = await sendAs(server.url, route, { id: subject.threadId, headers });
        if (got !== status) passed.push(`${route.method} ${route.path} with ${JSON.stringify(headers)}: ${got}`);
      }
      const changed = contentOf(server.databaseFile) === before ? [] : ["the database is not as it was"];
      return [
        noneOf(`foreign requests to ${routes.length} routes that were not refused`, passed, requests.length),
        noneOf("state changes by them", changed, requests.length),
        noneOf("answers to a page of our own that were refused", await ownRefused(world), 1),
      ];
    } finally {
      await world.close();
    }
  },
};

function foreignRequests(routes: readonly DescribedRoute[]): Foreign[] {
  const types = contentTypes.map((type): Record<string, string> => (type === "" ? {} : { "content-type": type }));
  return routes.flatMap((route) =>
    types.flatMap((type) => [
      ...foreignHosts.map((host) => ({ route, headers: { ...type, host }, status: statusForHost(host) })),
      ...foreignOrigins.map((origin) => ({ route, headers: { ...type, origin }, status: 403 })),
    ]),
  );
}

/** The judge's own proof that it is the names that are refused. */
async function ownRefused({ server }: World): Promise<string[]> {
  const route: DescribedRoute = { method: "GET", path: "/info", parameters: [], body: undefined };
  const status = await sendAs(server.url, route, { id: "", headers: { origin: server.url } });
  return status === 200 ? [] : [`/info was answered with ${status}`];
}
