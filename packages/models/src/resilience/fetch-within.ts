/** Makes a dispatcher; the class that node's own `fetch` uses, which it gives to nobody by name. */
type AgentClass = new (options: object) => NonNullable<RequestInit["dispatcher"]>;

const known = new Map<number, typeof fetch>();

/**
 * A `fetch` that gives up when the connection does not stand after so many milliseconds. Node's own limits on headers
 * and body, 300 s each, are off: an answer has time-outs of its own, measured on what it says.
 */
export function fetchWithin(connectMs: number): typeof fetch {
  const made = known.get(connectMs) ?? make(connectMs);
  known.set(connectMs, made);
  return made;
}

function make(connectMs: number): typeof fetch {
  const Agent = agentClass();
  // Where node keeps it elsewhere one day, its own 10 s hold.
  if (Agent === undefined) return fetch;
  const dispatcher = new Agent({ connect: { timeout: connectMs }, headersTimeout: 0, bodyTimeout: 0 });
  return async (input, init) => await fetch(input, { ...init, dispatcher });
}

function agentClass(): AgentClass | undefined {
  // The first use of any of its classes puts the agent of `fetch` where it can be found.
  void new Headers();
  const agent: unknown = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1"));
  if (typeof agent !== "object" || agent === null || agent.constructor.name !== "Agent") return undefined;
  // Recognised by its name.
  return agent.constructor as AgentClass;
}
