/** The dispatcher class of Node's `fetch`, which Node does not export. */
type AgentClass = new (options: object) => NonNullable<RequestInit["dispatcher"]>;

const known = new Map<number, typeof fetch>();

/**
 * A `fetch` with a connection time-out. Node's own limits of 300 s for headers and body are off, since responses have
 * their own time-outs.
 */
export function fetchWithin(connectMs: number): typeof fetch {
  const made = known.get(connectMs) ?? make(connectMs);
  known.set(connectMs, made);
  return made;
}

function make(connectMs: number): typeof fetch {
  const Agent = agentClass();
  // If Node moves it, its default of 10 s applies.
  if (Agent === undefined) return fetch;
  const dispatcher = new Agent({ connect: { timeout: connectMs }, headersTimeout: 0, bodyTimeout: 0 });
  return async (input, init) => await fetch(input, { ...init, dispatcher });
}

function agentClass(): AgentClass | undefined {
  // The first use of any of its classes registers the agent of `fetch` globally.
  void new Headers();
  const agent: unknown = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1"));
  if (typeof agent !== "object" || agent === null || agent.constructor.name !== "Agent") return undefined;
  // Identified by its name.
  return agent.constructor as AgentClass;
}
