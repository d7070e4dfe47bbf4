import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { build, InputOptions, OutputOptions } from "rolldown";
import { AppError, errorMessage } from "../errors/errors.ts";

/** A file that a page loads. */
export interface InterfaceFile {
  basename: string;
  contents: string | Uint8Array;
}

/** The UI components of graphs (`ui` of a langgraph.json): modules whose default export holds components by name. */
export interface Interfaces {
  /**
   * The files of a graph's interface, `undefined` if it has none. Bundled on first request. Throws `config` for what
   * cannot be bundled.
   */
  files(graphId: string): Promise<InterfaceFile[] | undefined>;
}

/** The interfaces in `langgraph.json`: their modules by graph, and packages that the page provides besides React's. */
export interface InterfaceSources {
  folder: string;
  modules: Record<string, string>;
  shared: readonly string[];
}

/** The global variable of a graph's interface, as LangGraph's pages expect it. */
export function globalOf(graphId: string): string {
  return `__LGUI_${graphId.replaceAll(/[^A-Za-z0-9]/gu, "_")}`;
}

/** Packages provided by the page: React must exist only once. */
const ofThePage = /^(react|react-dom|@langchain\/langgraph-sdk)($|\/)/u;

/** Passes a component to the requesting page; the counterpart of the SDK's `LoadExternalComponent`. */
const renderer = `export function render(name, shadowRootId) {
  const place = document.createElement("div");
  document.getElementById(shadowRootId).shadowRoot.appendChild(place);
  window[Symbol.for("LGUI_EXT_STORE")].respond(shadowRootId, components[name], place);
}
`;

/** The interfaces of a langgraph.json, read on first use. */
export function openInterfaces(sources: InterfaceSources): Interfaces {
  const bundled = new Map<string, Promise<InterfaceFile[]>>();
  return {
    async files(graphId) {
      if (!Object.hasOwn(sources.modules, graphId)) return undefined;
      const files = bundled.get(graphId) ?? bundle(sources, graphId);
      bundled.set(graphId, files);
      try {
        return await files;
      } catch (error) {
        // The next request tries again: the file may have been fixed.
        bundled.delete(graphId);
        throw error;
      }
    },
  };
}

async function bundle({ folder, modules, shared }: InterfaceSources, graphId: string): Promise<InterfaceFile[]> {
  const source = resolve(folder, modules[graphId] ?? "");
  const styles: string[] = [];
  const options: InputOptions = {
    input: "entrypoint",
    cwd: folder,
    platform: "browser",
    external: [ofThePage, ...shared],
    transform: { jsx: "react-jsx", target: "es2020" },
    moduleTypes: { ".svg": "dataurl", ".png": "dataurl", ".jpg": "dataurl", ".gif": "dataurl", ".webp": "dataurl" },
    plugins: [entrypoint(source, styles)],
    logLevel: "silent",
  };
  const output: OutputOptions = {
    format: "iife",
    name: globalOf(graphId),
    entryFileNames: "entrypoint.js",
    globals: (name) => `globalThis[Symbol.for("LGUI_REQUIRE")](${JSON.stringify(name)})`,
  };
  const runBundler = await loadBundler();
  try {
    const { output: made } = await runBundler({ ...options, output, write: false });
    const files = made.map((file) => ({
      basename: basename(file.fileName),
      contents: file.type === "chunk" ? file.code : file.source,
    }));
    return styles.length === 0 ? files : [{ basename: "entrypoint.css", contents: styles.join("\n") }, ...files];
  } catch (error) {
    throw new AppError("config", `The interface of ${graphId} cannot be bundled: ${errorMessage(error)}`, {
      suggestion: "Correct what `ui` of langgraph.json names.",
      cause: error,
    });
  }
}

/** A virtual entry module, and style sheets, collected in import order. */
function entrypoint(source: string, styles: string[]) {
  const place = join(source, "..", "interface-entrypoint.js");
  return {
    name: "interface",
    resolveId: (id: string) => (id === "entrypoint" ? place : undefined),
    async load(id: string) {
      if (id === place) return `import components from ${JSON.stringify(source)};\n${renderer}`;
      if (!id.endsWith(".css")) return undefined;
      styles.push(await readFile(id, "utf8"));
      return { code: "export default undefined;", moduleType: "js" as const };
    },
  };
}

/** The bundler is large and rarely needed, so it is loaded lazily. */
async function loadBundler(): Promise<typeof build> {
  try {
    return (await import("rolldown")).build;
  } catch (error) {
    throw new AppError("config", "Interfaces of graphs cannot be bundled: the package rolldown is not installed.", {
      suggestion: "Install Millrace with its development packages: npm ci.",
      cause: error,
    });
  }
}
