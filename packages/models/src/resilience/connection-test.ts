import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { AppError, isAppError, withAdvice } from "@millrace/engine/errors/errors";
import { isLinkOrMetadata } from "@millrace/engine/net/checked-agent";
import { noKey, targetOf } from "../load-model.ts";
import type { ModelFacts, ModelTarget } from "../provider.ts";
import type { ModelRegistry, ResolvedModel } from "../registry/registry.ts";
import { callWithRetry } from "./call-with-retry.ts";

/** Milliseconds a model has to answer. */
const patience = 10_000;

/** Outcomes of a test. */
export const connectionKinds = ["ok", "auth", "rate_limit", "network", "timeout", "other"] as const;
export type ConnectionKind = (typeof connectionKinds)[number];

/** The result, the time it took, and the server's facts or the error. */
export type ConnectionVerdict = { milliseconds: number } & (
  | { kind: "ok"; facts: ModelFacts }
  | { kind: Exclude<ConnectionKind, "ok">; error: AppError }
);

/** Options of a test; network and name resolution are replaceable. */
export interface ConnectionTestOptions {
  signal: AbortSignal;
  patience?: number;
  fetch?: typeof fetch;
  /** All addresses of a host name. */
  resolve?: (host: string) => Promise<string[]>;
}

/**
 * Sends a model one short request without streaming and thinking; models that would have to be loaded are only looked
 * up. Success is remembered. Rejects with `invalid_parameter` for an unknown name, `cancelled` on abort, and
 * `OverrideFile.write`'s errors; all model failures are verdicts.
 */
export async function testConnection(
  models: ModelRegistry,
  model: string,
  options: ConnectionTestOptions,
): Promise<ConnectionVerdict> {
  const reached = models.reach(model, { thinking: false });
  const began = performance.now();
  const taken = (): number => Math.round(performance.now() - began);
  let facts: ModelFacts;
  try {
    facts = await sayHello(model, reached, options);
  } catch (error) {
    if (!isAppError(error) || options.signal.aborted) throw error;
    return { kind: kindOf(error), error, milliseconds: taken() };
  }
  models.verified()?.record(model, reached.provider, new Date());
  return { kind: "ok", facts, milliseconds: taken() };
}

async function sayHello(
  model: string,
  { provider, name, connection }: ResolvedModel,
  { signal, patience: limit = patience, fetch: ownFetch, resolve = addressesOf }: ConnectionTestOptions,
): Promise<ModelFacts> {
  if (provider.needsKey && provider.key === undefined) throw noKey(name, provider);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(tooLate(model, limit, targetOf(model, name, provider))), limit);
  const through = ownFetch === undefined ? {} : { fetch: ownFetch };
  try {
    const work = async (until: AbortSignal): Promise<ModelFacts> => {
      await requireAllowedHost(connection.address, resolve);
      if (provider.maker.lookUp !== undefined) {
        return await provider.maker.lookUp(name, connection, { signal: until, ...through });
      }
      const client = provider.maker.create(name, { thinking: false, ...through }, connection);
      await client.invoke("Hi", { signal: until });
      return {};
    };
    return await callWithRetry(work, {
      signal: AbortSignal.any([signal, late.signal]),
      target: targetOf(model, name, provider),
      maxRetries: 0,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** A name that resolves to a metadata service or a link-local address is refused like the address itself. */
async function requireAllowedHost(
  address: string | undefined,
  resolve: (host: string) => Promise<string[]>,
): Promise<void> {
  if (address === undefined) return;
  const host = new URL(address).hostname.replace(/^\[|\]$/gu, "");
  const found = isIP(host) === 0 ? await resolve(host) : [host];
  if (!found.some(isLinkOrMetadata)) return;
  throw new AppError("blocked", `The host ${host} is a link-local address or a metadata service, which are refused.`, {
    suggestion: "Choose another base_url for this provider.",
  });
}

async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}

function tooLate(model: string, limit: number, { unreachableHint, advise }: ModelTarget): AppError {
  const message = `The model ${model} did not answer within ${limit / 1000} seconds.`;
  const advice = advise?.("timeout", message);
  const suggestion = advice?.en ?? unreachableHint;
  return withAdvice(new AppError("timeout", message, { suggestion, recoverable: true }), advice);
}

function kindOf({ code }: AppError): Exclude<ConnectionKind, "ok"> {
  switch (code) {
    case "auth":
    case "network":
    case "timeout":
      return code;
    case "rate_limit":
    case "quota":
      return "rate_limit";
    default:
      return "other";
  }
}
