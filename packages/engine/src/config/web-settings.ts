import { AppError } from "../errors/errors.ts";

/** The engines of the general search. */
export const searchEngineNames = ["google", "bing", "searxng"] as const;
export type SearchEngineName = (typeof searchEngineNames)[number];

/** The name of each engine's key, in the environment and among the stored ones; `undefined`: it wants none. */
export const searchKeyNames: Readonly<Record<SearchEngineName, string | undefined>> = {
  google: "GOOGLE_SEARCH_API_KEY",
  bing: "BING_SEARCH_API_KEY",
  searxng: undefined,
};

/** The name of each engine's address in the environment. */
export const searchAddressNames = {
  google: "GOOGLE_SEARCH_URL",
  bing: "BING_SEARCH_URL",
  searxng: "SEARXNG_URL",
} as const satisfies Record<SearchEngineName, string>;

/** The engine that searches: where it is asked, and by which key. A key is a secret: never log, trace or send this object. */
export interface SearchSettings {
  engine: SearchEngineName;
  address: string;
  apiKey?: string | undefined;
  /** Google's id of the search engine (cx). */
  engineId?: string | undefined;
  /** Whether the address is not the environment's: then it must be in the public internet, or be allowed. */
  isMoved?: boolean;
}

/** How far models may go into the web. */
export interface WebSettings {
  /** `undefined`: there is no search. */
  search: SearchSettings | undefined;
  /** Engines that want nothing but a key: the first whose key is stored searches where `search` is `undefined`. */
  lackKey: readonly SearchSettings[];
  /** Whether pages may be opened. */
  opensPages: boolean;
  /** Whether they may as soon as a search engine is configured. */
  opensWithSearch: boolean;
  /** Hosts, or `host:port`, that may be opened although they are not in the public internet. */
  allowed: string[];
}

/** What the environment says of the web. */
export interface WebEnvironment {
  MILLRACE_SEARCH?: "off" | SearchEngineName | undefined;
  MILLRACE_WEB_FETCH?: "on" | "off" | undefined;
  MILLRACE_WEB_ALLOW: string[];
  GOOGLE_SEARCH_API_KEY: string | undefined;
  GOOGLE_SEARCH_CX: string | undefined;
  GOOGLE_SEARCH_URL: string;
  BING_SEARCH_API_KEY: string | undefined;
  BING_SEARCH_URL: string;
  SEARXNG_URL?: string | undefined;
}

/**
 * The web as the environment has it. One engine searches at most: the one that is set up, of several the one that
 * `MILLRACE_SEARCH` names. Throws `config` where that cannot be said.
 */
export function webSettings(values: WebEnvironment): WebSettings {
  const { MILLRACE_SEARCH: named, MILLRACE_WEB_FETCH: fetches, MILLRACE_WEB_ALLOW: allowed } = values;
  const lackKey = enginesIn(values).filter((one) => !hasKey(one) && (named === undefined || named === one.engine));
  const search = searchOf(values, lackKey);
  const opensWithSearch = fetches === undefined;
  const opensPages = fetches === "on" || (opensWithSearch && search !== undefined);
  return { search, lackKey, opensPages, opensWithSearch, allowed };
}

/** The web with the keys that are stored now, which go before those of the environment; `settings` where none counts. */
export function withStoredKeys(settings: WebSettings, keys: Readonly<Record<string, string>>): WebSettings {
  const stored = ({ engine }: SearchSettings): string | undefined => {
    const name = searchKeyNames[engine];
    return name !== undefined && Object.hasOwn(keys, name) ? keys[name] : undefined;
  };
  const engine = settings.search ?? settings.lackKey.find((one) => stored(one) !== undefined);
  const apiKey = engine === undefined ? undefined : stored(engine);
  if (engine === undefined || apiKey === undefined) return settings;
  return {
    ...settings,
    search: { ...engine, apiKey },
    opensPages: settings.opensPages || settings.opensWithSearch,
  };
}

/** The engines that have all they need, but perhaps their key. */
function enginesIn(values: WebEnvironment): SearchSettings[] {
  const { GOOGLE_SEARCH_API_KEY: key, GOOGLE_SEARCH_CX: engineId, SEARXNG_URL: searxng } = values;
  const google: SearchSettings = { engine: "google", address: values.GOOGLE_SEARCH_URL, apiKey: key, engineId };
  return [
    ...(engineId === undefined ? [] : [google]),
    { engine: "bing", address: values.BING_SEARCH_URL, apiKey: values.BING_SEARCH_API_KEY },
    ...(searxng === undefined ? [] : [{ engine: "searxng" as const, address: searxng }]),
  ];
}

function hasKey({ engine, apiKey }: SearchSettings): boolean {
  return apiKey !== undefined || searchKeyNames[engine] === undefined;
}

function searchOf(values: WebEnvironment, lackKey: readonly SearchSettings[]): SearchSettings | undefined {
  const { MILLRACE_SEARCH: named, GOOGLE_SEARCH_API_KEY: key, GOOGLE_SEARCH_CX: cx } = values;
  if (named === "off") return undefined;
  if (key !== undefined && cx === undefined) {
    throw problem("GOOGLE_SEARCH_API_KEY and GOOGLE_SEARCH_CX belong together, and the second is empty.", "both");
  }
  const known = enginesIn(values).filter((engine) => hasKey(engine));
  if (named === undefined) {
    if (known.length > 1) {
      const names = known.map(({ engine }) => engine).join(", ");
      throw problem(
        `Several search engines are set up (${names}), and one searches.`,
        "MILLRACE_SEARCH to one of them",
      );
    }
    return known[0];
  }
  const chosen = known.find(({ engine }) => engine === named);
  if (chosen === undefined && lackKey.length === 0)
    throw problem(`MILLRACE_SEARCH is ${named}, which is not set up.`, needs[named]);
  return chosen;
}

const needs: Readonly<Record<SearchEngineName, string>> = {
  google: "GOOGLE_SEARCH_CX, and GOOGLE_SEARCH_API_KEY where it is not stored",
  bing: "BING_SEARCH_API_KEY",
  searxng: "SEARXNG_URL",
};

function problem(message: string, remedy: string): AppError {
  return new AppError("config", message, { suggestion: `Set ${remedy}, or set MILLRACE_SEARCH to off.` });
}
