import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import type { Manifest } from "./manifest.ts";
import { loadExport } from "./user-module.ts";

/** The caller of a request, as identified by the user's own code. */
export interface AuthContext {
  user: { identity: string; display_name: string; is_authenticated: boolean; permissions: string[] } & Record<
    string,
    unknown
  >;
  scopes: string[];
}

/** The events handlers are asked about. */
export type AuthEvent =
  | `assistants:${"create" | "read" | "update" | "delete" | "search"}`
  | `threads:${"create" | "read" | "update" | "delete" | "search" | "create_run"}`
  | `crons:${"create" | "read" | "update" | "delete" | "search"}`
  | `store:${"put" | "get" | "search" | "list_namespaces" | "delete"}`;

/** What a row's metadata must contain, like PostgreSQL's `@>`. */
export type RowFilter = Record<string, unknown>;

/** The rules from `auth.path` of a `langgraph.json`. */
export interface CustomAuth {
  /** Identifies the caller. Throws `Refusal` with the user code's error; 401 if it returns no user. */
  authenticate: (request: Request) => Promise<AuthContext>;
  /**
   * Calls the event's handler; `undefined` allows every row. The handler may change `value`. Throws `Refusal`: 403, or
   * what the handler threw.
   */
  authorize: (context: AuthContext, event: AuthEvent, value: Record<string, unknown>) => Promise<RowFilter | undefined>;
  /** Whether Studio's header is accepted as a user, where only this machine can send it. */
  allowsStudio: boolean;
}

/** The result of `new Auth().authenticate(…).on(…)` in any version of LangGraph's SDK. */
interface Handlers {
  authenticate?: (request: Request) => unknown;
  callbacks?: Record<string, ((request: object) => unknown) | undefined>;
}

/** Studio, which has no user of its own. */
export const studioUser: AuthContext = {
  user: {
    kind: "StudioUser",
    display_name: "langgraph-studio-user",
    identity: "langgraph-studio-user",
    permissions: [],
    is_authenticated: true,
  },
  scopes: [],
};

const Permissions = z.array(z.string());
const AuthenticatedUser = z.looseObject({
  identity: z.string().min(1),
  permissions: Permissions.nullish(),
  display_name: z.string().nullish(),
  is_authenticated: z.boolean().nullish(),
});

/** Loads the rules; `undefined` if the manifest has none. Throws `config` if they are unusable. */
export async function loadAuth({ auth, folder }: Pick<Manifest, "auth" | "folder">): Promise<CustomAuth | undefined> {
  if (auth?.path === undefined) return undefined;
  const handlers = handlersOf(await loadExport(folder, auth.path), auth.path);
  return {
    allowsStudio: !auth.disable_studio_auth,
    authenticate: async (request) => {
      const { authenticate } = handlers;
      if (authenticate === undefined) throw new Refusal(401, "Unauthorized");
      return toContext(await asRefusal(() => authenticate(request)));
    },
    authorize: async ({ user, scopes }, event, value) => {
      const handler = handlerFor(handlers, event);
      if (handler === undefined) return undefined;
      const [resource, action] = event.split(":");
      const request = { event, resource, action, value, user, permissions: scopes };
      const result = await asRefusal(() => handler(request));
      if (result === false) throw new Refusal(403, "Forbidden");
      return result === undefined || result === null || result === true ? undefined : toRowFilter(result, event);
    },
  };
}

function handlersOf(exported: unknown, path: string): Handlers {
  if (typeof exported === "object" && exported !== null && "~handlerCache" in exported) {
    // The SDK's own object, of which only callable parts are used.
    return exported["~handlerCache"] as Handlers;
  }
  throw new AppError("config", `auth.path ${path} is no Auth of @langchain/langgraph-sdk/auth.`, {
    suggestion: 'Export one: export const auth = new Auth().authenticate(async (request) => "user").',
  });
}

/** The most specific handler for an event. */
function handlerFor({ callbacks }: Handlers, event: AuthEvent): ((request: object) => unknown) | undefined {
  const [resource = "", action = ""] = event.split(":");
  const name = [event, resource, `*:${action}`, "*"].find((key) => callbacks?.[key] !== undefined);
  return name === undefined ? undefined : callbacks?.[name];
}

async function asRefusal(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    throw toRefusal(error) ?? error;
  }
}

function toContext(answer: unknown): AuthContext {
  if (typeof answer === "string" && answer !== "") return toContext({ identity: answer });
  const parsed = AuthenticatedUser.safeParse(answer);
  if (!parsed.success) {
    throw new AppError("config", "authenticate answered with neither a name nor an object with an identity.", {
      suggestion: 'Return a string, or an object such as {identity: "ada", permissions: []}.',
    });
  }
  const problem = jsonProblem(parsed.data);
  if (problem !== undefined) {
    throw new AppError("config", `authenticate of auth.path answered with a user that JSON cannot hold: ${problem}.`, {
      suggestion: "Users are told apart, and told to graphs, by JSON: leave that field out, or give it as a text.",
    });
  }
  const { permissions, display_name, is_authenticated, ...user } = parsed.data;
  const scopes = permissions ?? [];
  return {
    user: {
      ...user,
      permissions: scopes,
      is_authenticated: is_authenticated ?? true,
      display_name: display_name ?? user.identity,
    },
    scopes,
  };
}

const Plain = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const RowFilterAnswer = z.record(
  z.string(),
  z.union([
    Plain,
    z.strictObject({ $eq: Plain }).transform(({ $eq }) => $eq),
    z
      .strictObject({ $contains: z.union([Plain, z.array(Plain)]) })
      .transform(({ $contains }) => (Array.isArray($contains) ? $contains : [$contains])),
  ]),
);

/** A filter of unknown form refuses everything. */
function toRowFilter(result: unknown, event: AuthEvent): RowFilter {
  const parsed = RowFilterAnswer.safeParse(result);
  if (parsed.success) return parsed.data;
  throw new AppError("config", `The handler of auth.path for ${event} answered with something that is no filter.`, {
    suggestion: "Return true, false, nothing, or {key: value | {$eq: value} | {$contains: value or values}}.",
  });
}

type HeaderList = ConstructorParameters<typeof Headers>[0];

/** A refusal by the user's code, with its own status, text and headers. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, message: string, headers?: HeaderList) {
    super(message);
    this.status = status;
    this.headers = new Headers(headers);
  }
}

/** An `HTTPException` of any version of LangGraph's SDK or Hono; `undefined` for other errors. */
function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (!(error instanceof Error) || !("status" in error) || typeof error.status !== "number") return undefined;
  if (!Number.isInteger(error.status) || error.status < 400 || error.status > 599) return undefined;
  // Hono's has no headers of its own; the SDK's has those passed to it.
  const headers = "headers" in error ? (error.headers as HeaderList) : undefined;
  return new Refusal(error.status, error.message || "Unauthorized", headers);
}

/** Where a value contains something JSON cannot hold, and what; `undefined` if it can be stringified. */
function jsonProblem(value: unknown, path: readonly string[] = [], above: readonly unknown[] = []): string | undefined {
  const name = path.join(".");
  if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") {
    return `${name} is a ${typeof value}`;
  }
  if (typeof value !== "object" || value === null || "toJSON" in value) return undefined;
  if (above.includes(value)) return `${name} is an object that it stands in`;
  const entries = Object.entries(value);
  // The content of a Map or Promise would be lost silently.
  if (entries.length === 0 && !isPlain(value)) return `${name} is a ${value.constructor.name}`;
  for (const [key, part] of entries) {
    const problem = jsonProblem(part, [...path, key], [...above, value]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
