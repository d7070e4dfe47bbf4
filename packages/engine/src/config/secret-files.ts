import { AppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import { type ApiKey, apiKeys, isSecret } from "./api-keys.ts";
import { type Found, OverrideFile } from "./override-file.ts";

/** Suffix of the variable that names a file with the value, as container images use it. */
const ending = "_FILE";

/** The variable that names another one's file. */
export function fileVariable(name: string): string {
  return `${name}${ending}`;
}

/** The key variables for which a file is named, including vendors' keys that are not settings of this server. */
export function keysInFiles(env: Readonly<Record<string, string | undefined>>): string[] {
  const isKeyFile = new RegExp(`^[A-Z0-9_]+_API_KEY${ending}$`, "u");
  return Object.keys(env)
    .filter((name) => isKeyFile.test(name))
    .map((name) => name.slice(0, -ending.length));
}

/**
 * Secrets in files (`OPENAI_API_KEY_FILE`). A file is checked on every use, so a new secret applies at once; a missing,
 * empty or unreadable file keeps the last secret and is reported once.
 */
export class SecretFiles {
  readonly #files = new Map<string, { file: OverrideFile<string>; last: string; isMissing: boolean }>();
  #logger: Pick<Logger, "error" | "info"> | undefined;

  /** Reads the files named for these variables. Throws `config` with all problems. */
  constructor(env: Readonly<Record<string, string | undefined>>, names: readonly string[]) {
    const problems: string[] = [];
    for (const name of names.filter(isSecret)) {
      const path = env[fileVariable(name)]?.trim() ?? "";
      if (path === "") continue;
      const file = new OverrideFile(path, readSecret, (warning) => this.#warn(name, warning.problem));
      const found = file.read();
      if (env[name]) problems.push(`${name} and ${fileVariable(name)} are both set`);
      else if (found.kind === "value") this.#files.set(name, { file, last: found.value, isMissing: false });
      else problems.push(`${fileVariable(name)}: ${path}: ${problemOf(found)}`);
    }
    if (problems.length === 0) return;
    throw new AppError("config", `Secrets cannot be read from their files:\n  ${problems.join("\n  ")}`, {
      suggestion: "Write the secret into the file and let this user read it, or set the variable itself.",
    });
  }

  /** Logs problems and changes from now on. */
  logTo(logger: Pick<Logger, "error" | "info">): void {
    this.#logger = logger;
  }

  /** The current secret in the file; `undefined` for a variable without a file. */
  value(name: string): string | undefined {
    const known = this.#files.get(name);
    if (known === undefined) return undefined;
    const found = known.file.read();
    if (found.kind === "value") {
      if (found.value !== known.last) this.#logger?.info({ variable: fileVariable(name) }, "secret_changed");
      known.last = found.value;
    } else if (found.kind === "none" && !known.isMissing) this.#warn(name, problemOf(found));
    known.isMissing = found.kind === "none";
    return known.last;
  }

  /** The current values of all, by variable. */
  values(): Record<string, string> {
    return Object.fromEntries([...this.#files.keys()].map((name) => [name, this.value(name) ?? ""]));
  }

  #warn(name: string, problem: string): void {
    this.#logger?.error({ variable: fileVariable(name), problem }, "secret_file_not_used");
  }
}

function readSecret(text: string): { value: string } | { problem: string } {
  const value = text.trim();
  return value === "" ? { problem: "it is empty" } : { value };
}

function problemOf(found: Found<string>): string {
  return found.kind === "unusable" ? found.problem : "it is not there";
}

/** The current API keys: those of the environment, or the last valid content of their file. */
export function clientKeys(
  config: { apiKeys: readonly ApiKey[]; secretFiles: SecretFiles },
  logger: Pick<Logger, "error">,
): () => readonly ApiKey[] {
  const name = "MILLRACE_API_KEYS";
  let keys = config.apiKeys;
  let text = config.secretFiles.value(name);
  if (text === undefined) return () => keys;
  return () => {
    const now = config.secretFiles.value(name);
    if (now === text) return keys;
    text = now;
    const parsed = apiKeys.safeParse(now);
    if (parsed.success && parsed.data.length > 0) keys = parsed.data;
    else {
      const problem = parsed.error?.issues.map(({ message }) => message).join("; ") ?? "it holds no key";
      logger.error({ variable: fileVariable(name), problem }, "secret_file_not_used");
    }
    return keys;
  };
}
