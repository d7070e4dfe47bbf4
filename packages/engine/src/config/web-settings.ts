import { AppError } from "../errors/errors.ts";

/** The supported web search engines. */
export const searchEngineNames = ["google", "bing", "searxng"] as const;
export type SearchEngineName = (typeof searchEngineNames)[number];

/** Each engine's key, as its variable and its stored name; `undefined`: it needs none. */
export const searchKeyNames: Readonly<Record<SearchEngineName, string | undefined>> = {
  google: "GOOGLE_SEARCH_API_KEY",
  bing: "BING_SEARCH_API_KEY",
  searxng: undefined,
};

/** Each engine's address variable. */
export const searchAddressNames = {
  google: "GOOGLE_SEARCH_URL",
  bing: "BING_SEARCH_URL",
  searxng: "SEARXNG_URL",
} as const satisfies Record<SearchEngineName, string>;

/** A search engine's address and key. The key is a secret: never log, trace or send this object. */
export interface SearchSettings {
  engine: SearchEngineName;
  address: string;
  apiKey?: string | undefined;
  /** Google's id of the search engine (cx). */
  engineId?: string | undefined;
  /** Whether the address was changed from the environment's: then it must be public or allowed. */
  isMoved?: boolean;
}

/** Web access of models. */
export interface WebSettings {
  /** `undefined`: no search. */
  search: SearchSettings | undefined;
  /** Engines that lack only a key: if `search` is `undefined`, the first with a stored key is used. */
  lackKey: readonly SearchSettings[];
  /** Whether pages may be opened. */
  opensPages: boolean;
  /** Whether pages may be opened once a search engine is configured. */
  opensWithSearch: boolean;
  /** Hosts, or `host:port`, outside the public internet that may be opened. */
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
 * Parses the web settings. At most one engine is used; of several, the one that `MILLRACE_SEARCH` names. Throws
 * `config` for a contradiction.
 */
export function webSettings(values: WebEnvironment): WebSettings {
  const { MILLRACE_SEARCH: named, MILLRACE_WEB_FETCH: fetches, MILLRACE_WEB_ALLOW: allowed } = values;
  const lackKey = enginesIn(values).filter((one) => !hasKey(one) && (named === undefined || named === one.engine));
  const search = searchOf(values, lackKey);
  const opensWithSearch = fetches === undefined;
  const opensPages = fetches === "on" || (opensWithSearch && search !== undefined);
  return { search, lackKey, opensPages, opensWithSearch, allowed };
}

/** The settings with the stored keys, which win over the environment's; unchanged without any. */
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

/** The engines whose settings are complete, except perhaps the key. */
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
