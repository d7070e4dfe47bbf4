import { AppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import { type ApiKey, apiKeys, isSecret } from "./api-keys.ts";
import { type Found, OverrideFile } from "./override-file.ts";

/** What is put behind the name of a variable for the file that holds its value, as images of containers do. */
const ending = "_FILE";

/** The variable that names the file of another one. */
export function fileVariable(name: string): string {
  return `${name}${ending}`;
}

/** The variables of keys that a file is named for, whoever reads them: vendors have keys that are no settings of this server. */
export function keysInFiles(env: Readonly<Record<string, string | undefined>>): string[] {
  const isKeyFile = new RegExp(`^[A-Z0-9_]+_API_KEY${ending}$`, "u");
  return Object.keys(env)
    .filter((name) => isKeyFile.test(name))
    .map((name) => name.slice(0, -ending.length));
}

/**
 * Secrets in files (`OPENAI_API_KEY_FILE`). A file is looked at whenever its secret is used, so that another one counts
 * from then on; one that is gone, empty or cannot be read leaves the last secret as it is, and is told once.
 */
export class SecretFiles {
  readonly #files = new Map<string, { file: OverrideFile<string>; last: string; isMissing: boolean }>();
  #logger: Pick<Logger, "error" | "info"> | undefined;

  /** Reads the files that an environment names for these variables. Throws `config`, with all that is wrong with them. */
  constructor(env: Readonly<Record<string, string | undefined>>, names: readonly string[]) {
    const problems: string[] = [];
    for (const name of names.filter(isSecret)) {
      const path = env[fileVariable(name)]?.trim() ?? "";
      if (path === "") continue;
      const file = new OverrideFile(path, readSecret, (warning) => this.#tell(name, warning.problem));
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

  /** From now on problems and changes are logged. */
  logTo(logger: Pick<Logger, "error" | "info">): void {
    this.#logger = logger;
  }

  /** The secret as its file has it now; `undefined` for a variable without a file. */
  value(name: string): string | undefined {
    const known = this.#files.get(name);
    if (known === undefined) return undefined;
    const found = known.file.read();
    if (found.kind === "value") {
      if (found.value !== known.last) this.#logger?.info({ variable: fileVariable(name) }, "secret_changed");
      known.last = found.value;
    } else if (found.kind === "none" && !known.isMissing) this.#tell(name, problemOf(found));
    known.isMissing = found.kind === "none";
    return known.last;
  }

  /** All of them at this moment, by the names of their variables. */
  values(): Record<string, string> {
    return Object.fromEntries([...this.#files.keys()].map((name) => [name, this.value(name) ?? ""]));
  }

  #tell(name: string, problem: string): void {
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

/** The clients' keys as they are now: those of the environment, or of their file, whose last usable state counts. */
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
