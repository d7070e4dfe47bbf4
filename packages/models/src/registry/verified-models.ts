import { createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { OverrideFile, type WarnOfFile } from "@millrace/engine/config/override-file";
import type { ProviderSetting } from "./model-settings.ts";
import type { Provider } from "../provider.ts";

/** A provider's current settings. `key` is a secret: never log, trace or send this object. */
export interface KnownProvider {
  name: string;
  isBuiltIn: boolean;
  maker: Provider;
  /** `undefined` without a network. */
  address: string | undefined;
  /** Required at the vendor's own address; elsewhere sent if available. */
  needsKey: boolean;
  keyName: string | undefined;
  key: { value: string; source: "file" | "environment" } | undefined;
  /** The user's limits for its requests. */
  limits: Pick<ProviderSetting, "timeout_seconds" | "max_concurrent" | "requests_per_second">;
}

/** Models remembered; names come from requests, so it must be bounded. */
const remembered = 500;
const Verified = z.strictObject({
  salt: z.string().min(16),
  models: z.record(z.string(), z.object({ at: z.iso.datetime(), connection: z.string() })),
});
type Verified = z.infer<typeof Verified>;

/**
 * When each model last passed a test, stored in the data folder. Valid only for the tested address and key: changing
 * either, by any means, invalidates it. Only a salted hash of the key is stored.
 */
export class VerifiedModels {
  readonly #file: OverrideFile<Verified>;

  constructor(dataDir: string, warn: WarnOfFile) {
    this.#file = new OverrideFile(join(dataDir, "verified-models.json"), readVerified, warn);
  }

  /** When the model last passed, ISO-8601; `null`: not since its provider's address or key changed. */
  at(model: string, provider: KnownProvider): string | null {
    const { salt, models } = this.#read();
    const known = Object.hasOwn(models, model) ? models[model] : undefined;
    return known?.connection === connectionOf(provider, salt) ? known.at : null;
  }

  /** When any model of a provider last passed. */
  latest(provider: KnownProvider): string | null {
    const { models } = this.#read();
    const own = Object.keys(models).filter((model) => model.split(":")[0] === provider.name);
    const times = own.flatMap((model) => this.at(model, provider) ?? []);
    return times.toSorted().at(-1) ?? null;
  }

  /** Records that a model passed; the oldest entries are dropped. Throws as `OverrideFile.write`. */
  record(model: string, provider: KnownProvider, at: Date): void {
    const { salt, models } = this.#read();
    const others = Object.entries(models).filter(([name]) => name !== model);
    const entry = { at: at.toISOString(), connection: connectionOf(provider, salt) };
    const kept = Object.fromEntries([...others, [model, entry] as const].slice(-remembered));
    this.#file.write(`${JSON.stringify({ salt, models: kept } satisfies Verified)}\n`, 0o600);
  }

  /** An unreadable file is rewritten at the next test: its content can be recreated. */
  #read(): Verified {
    const found = this.#file.read();
    return found.kind === "value" ? found.value : { salt: randomBytes(16).toString("hex"), models: {} };
  }
}

function readVerified(text: string): { value: Verified } | { problem: string } {
  try {
    const parsed = Verified.safeParse(JSON.parse(text));
    return parsed.success ? { value: parsed.data } : { problem: "it is not what a test has written" };
  } catch {
    return { problem: "it is not JSON" };
  }
}

function connectionOf({ address, key }: KnownProvider, salt: string): string {
  return createHmac("sha256", salt)
    .update(JSON.stringify([address ?? null, key?.value ?? null]))
    .digest("hex");
}
