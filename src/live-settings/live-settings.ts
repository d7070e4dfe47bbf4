import { join } from "node:path";
import { z } from "zod";
import { type Config, loadConfig, valuesOf } from "@millrace/engine/config/config";
import { AppError, errorMessage, isAppError } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import {
  searchAddressNames,
  type SearchEngineName,
  searchEngineNames,
  searchKeyNames,
  type SearchSettings,
  type WebSettings,
} from "@millrace/engine/config/web-settings";
import { OverrideFile, type WarnOfFile } from "@millrace/engine/config/override-file";

/** File name in the data folder, out of reach for tools. */
const fileName = "settings.json";
const Name = z.string().refine((name) => Object.hasOwn(changeable, name), { error: "it cannot be changed here" });
const Changed = z.record(Name, z.string().min(1));
/** Changed settings by environment variable name. */
export type ChangedSettings = Readonly<Record<string, string>>;

/**
 * The configuration with settings changed at runtime. They are stored in a file that is checked at each use, so that
 * changes, also manual ones, take effect at once. If the file is broken, the last valid state stays in effect.
 */
export class LiveSettings {
  readonly #started: Config;
  readonly #file: OverrideFile<Live>;
  readonly #taken: (now: Config, before: Config) => void;
  #last: Live;

  /** `taken` is called whenever a change takes effect. */
  constructor(started: Config, warn: WarnOfFile, taken: (now: Config, before: Config) => void = () => undefined) {
    this.#started = started;
    this.#taken = taken;
    this.#last = { changed: {}, config: started };
    this.#file = new OverrideFile(join(started.dataDir, fileName), (text) => readLive(started, text), warn);
  }

  /** The configuration in effect: the same object until a setting changes. */
  current(): Config {
    return this.#live().config;
  }

  /** The changed settings. */
  changed(): ChangedSettings {
    return this.#live().changed;
  }

  /**
   * Changes variables, all or none; `null` resets one. Throws `invalid_parameter` if the server could not start with
   * the result, `conflict` while the file is broken, and `OverrideFile.write`'s errors.
   */
  change(changes: Readonly<Record<string, string | null>>): void {
    const found = this.#file.read();
    if (found.kind === "unusable") {
      throw new AppError("conflict", `The file ${fileName} is broken and is not overwritten: ${found.problem}.`, {
        suggestion: "Mend or remove it in the data folder, then try again.",
      });
    }
    const entries = Object.entries({ ...this.changed(), ...changes });
    const changed = Object.fromEntries(entries.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
    try {
      merged(this.#started, changed);
    } catch (error) {
      if (!isAppError(error)) throw error;
      throw new AppError("invalid_parameter", error.message, { suggestion: "GET /settings says what each may be." });
    }
    this.#file.write(`${JSON.stringify(changed, null, 2)}\n`);
    this.#live();
  }

  #live(): Live {
    const found = this.#file.read();
    const { config: before } = this.#last;
    if (found.kind === "value") this.#last = found.value;
    if (found.kind === "none" && before !== this.#started) this.#last = { changed: {}, config: this.#started };
    if (this.#last.config !== before) this.#taken(this.#last.config, before);
    return this.#last;
  }
}

/** Opens a data folder's settings, whose file may be missing, and keeps the log level in step with them. */
export function openSettings(config: Config, logger: Pick<Logger, "error" | "level">): LiveSettings {
  const warn: WarnOfFile = (warning) => logger.error(warning, "settings_file_not_used");
  const settings = new LiveSettings(config, warn, ({ logLevel }, before) => {
    if (logLevel !== before.logLevel) logger.level = logLevel;
  });
  settings.current();
  return settings;
}

interface Live {
  changed: ChangedSettings;
  config: Config;
}

function readLive(started: Config, text: string): { value: Live } | { problem: string } {
  try {
    const changed = Changed.parse(JSON.parse(text));
    return { value: { changed, config: merged(started, changed) } };
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: "it is not JSON" };
    return { problem: error instanceof z.ZodError ? z.prettifyError(error) : errorMessage(error) };
  }
}

/** Takes only changed fields from the new configuration. Throws `config` if it is invalid. */
function merged(started: Config, changed: ChangedSettings): Config {
  if (Object.keys(changed).length === 0) return started;
  const moved = movedEngines(started, changed);
  // The environment's keys are only for the environment's addresses.
  const keys = moved.map((engine) => searchKeyNames[engine]);
  const given = Object.fromEntries(Object.entries(started.given).filter(([name]) => !keys.includes(name)));
  const fresh = loadConfig({ ...given, ...changed });
  const fields = new Set(Object.keys(changed).map((name) => changeable[name]));
  const taken = Object.fromEntries(
    [...fields].flatMap((field) => (field === undefined ? [] : [[field, fresh[field]]])),
  );
  return { ...started, ...taken, web: fields.has("web") ? webOf(started.web, fresh.web, moved) : started.web };
}

/** Search engines whose address differs from the environment's. */
function movedEngines({ given }: Config, changed: ChangedSettings): SearchEngineName[] {
  const before = valuesOf(given);
  return searchEngineNames.filter((engine) => {
    const name = searchAddressNames[engine];
    return Object.hasOwn(changed, name) && before[name] !== changed[name];
  });
}

/** Only the environment may allow private addresses, so a changed address must be public. */
function webOf({ allowed }: WebSettings, fresh: WebSettings, moved: readonly SearchEngineName[]): WebSettings {
  const marked = (one: SearchSettings): SearchSettings =>
    moved.includes(one.engine) ? { ...one, isMoved: true } : one;
  return { ...fresh, allowed, search: fresh.search && marked(fresh.search), lackKey: fresh.lackKey.map(marked) };
}

/**
 * Variables that can be changed at runtime, with their configuration fields: only values that nothing caches beyond a
 * run. API keys, folders, toolkits and allowed private addresses come from the environment alone.
 */
export const changeable: Readonly<Record<string, keyof Config>> = {
  MILLRACE_TOOL_RATE: "toolRate",
  MILLRACE_MODEL_RATE: "modelRate",
  MILLRACE_MODEL_REQUESTS: "modelRequests",
  MILLRACE_CRITICAL_FILES: "criticalFiles",
  MILLRACE_CONFIRM_TASKS: "confirmTasks",
  MILLRACE_LOG_LEVEL: "logLevel",
  MILLRACE_SEARCH: "web",
  MILLRACE_WEB_FETCH: "web",
  GOOGLE_SEARCH_CX: "web",
  GOOGLE_SEARCH_URL: "web",
  BING_SEARCH_URL: "web",
  SEARXNG_URL: "web",
};
