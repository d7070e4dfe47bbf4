import { Hono } from "hono";
import { z } from "zod";
import { languageOf } from "../../responses/wire.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  versions,
  type Caller,
  type HttpApp,
  type HttpEnvironment,
  type HttpExtension,
  type SharedServices,
} from "../../environment.ts";

const CallerShape = z
  .object({
    caller: z
      .enum(["anyone", "owner", "user"])
      .describe("`anyone` where no key is asked for, the `owner` of a key, or a `user` of the rules of `auth.path`"),
    name: z.string().nullable().describe("The owner's name or the user's identity; null for anyone"),
    display_name: z.string().nullable(),
    may_administer: z.boolean().describe("Whether the caller may change what all callers share"),
    language: z.enum(["en", "zh"]).describe("The language in which this caller is answered, by Accept-Language"),
    server: z.object({ name: z.literal("millrace"), version: z.string(), started_at: z.string() }),
    disabled: z.array(z.string()).describe("Resources that the langgraph.json has switched off"),
    features: z.record(z.string(), z.boolean()).describe("What this server can do beside the LangGraph API"),
  })
  .meta({ ref: "Caller" });

/** `/me`: the caller, its permissions, and the server's features. */
export function callerRoutes(
  { config, disabled }: SharedServices,
  ofExtension: HttpExtension["features"] = {},
): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const server = { name: "millrace" as const, version: versions.millrace, started_at: new Date().toISOString() };
  const features = { langsmith: config.langsmith.enabled, ...ofExtension };
  routes.get(
    "/me",
    describe({ tag: "Meta", summary: "Who calls, and what the caller may do", answer: CallerShape }),
    (context) => {
      const answer: z.infer<typeof CallerShape> = {
        ...nameOf(context.get("caller")),
        may_administer: servicesOf(context).mayAdminister,
        language: languageOf(context),
        server,
        disabled: [...disabled],
        features,
      };
      return context.json(answer);
    },
  );
  return routes;
}

function nameOf(caller: Caller): Pick<z.infer<typeof CallerShape>, "caller" | "name" | "display_name"> {
  switch (caller.kind) {
    case "owner":
      return { caller: "owner", name: caller.name, display_name: caller.name };
    case "user": {
      const { identity, display_name } = caller.context.user;
      return { caller: "user", name: identity, display_name };
    }
    case "anyone":
    // Callers without a key only reach public paths.
    case "anonymous":
      return { caller: "anyone", name: null, display_name: null };
  }
}
