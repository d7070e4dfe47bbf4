import { existsSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { API, type CompilerOptions } from "typescript/unstable/sync";
import { GraphTypes, type GraphParts } from "./graph-types.ts";
import { TypeReader } from "./type-schema.ts";
import type { ReadTypes, PartSchemas, TypeJob } from "./graph-schemas.ts";

/** As packages of the field are compiled; a folder's stricter settings are no reason to learn less of its types. */
const settings = {
  target: "ESNext",
  module: "Preserve",
  moduleResolution: "Bundler",
  jsx: "preserve",
  allowJs: true,
  allowImportingTsExtensions: true,
  resolveJsonModule: true,
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  types: [],
};

/** Reads the schemas of a job's graphs, in their order; `null` for a graph not found. */
export function readGraphs({ work, graphs }: TypeJob): (ReadTypes | null)[] {
  const api = new API({ cwd: work });
  try {
    const answers = new Map<string, ReadTypes | null>();
    // Modules of one tsconfig.json form one project, and so do those without one.
    const groups = Map.groupBy(graphs, ({ path }) => nearest("tsconfig.json", path, work));
    for (const [at, [tsconfig, group]] of [...groups].entries()) {
      const isLent = group.some(({ path }) => path.startsWith(work));
      const project = join(work, `project-${at}.json`);
      const own = tsconfig === undefined ? {} : aliases(api.parseConfigFile(tsconfig).options);
      const compilerOptions = { ...settings, ...own, preserveSymlinks: isLent };
      writeFileSync(project, JSON.stringify({ compilerOptions, files: group.map(({ path }) => path) }));
      for (const [graph, found] of readProject(api, project, group)) {
        // The list of packages determines what they declare.
        const packages = nearest("package.json", graph.path, work);
        const files = [...(found?.files ?? []), ...[tsconfig, packages].filter((file) => file !== undefined)];
        answers.set(keyOf(graph), found && { ...found, files });
      }
    }
    return graphs.map((graph) => answers.get(keyOf(graph)) ?? null);
  } finally {
    api.close();
  }
}

/** The nearest file of a name; for a module linked into `limit` under another name, only one of its own folder. */
function nearest(name: string, path: string, limit: string): string | undefined {
  for (let folder = dirname(path); folder !== limit && folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, name);
    if (existsSync(file)) return file;
  }
  return undefined;
}

/** Resolves module names by `paths` and `baseUrl`; the compiler itself no longer supports the latter. */
function aliases(options: CompilerOptions): { paths?: Record<string, string[]> } {
  const baseUrl = textOption(options, "baseUrl");
  const base = baseUrl ?? textOption(options, "pathsBasePath");
  if (base === undefined) return {};
  const absolute = Object.entries(options.paths ?? {}).map(([name, targets]): [string, string[]] => [
    name,
    targets.map((target) => resolve(base, target)),
  ]);
  const fromBase: Record<string, string[]> = baseUrl === undefined ? {} : { "*": [join(baseUrl, "*")] };
  return { paths: { ...fromBase, ...Object.fromEntries(absolute) } };
}

function textOption(options: CompilerOptions, name: string): string | undefined {
  const value: unknown = Reflect.get(options, name);
  return typeof value === "string" ? value : undefined;
}

function keyOf({ path, name }: TypeJob["graphs"][number]): string {
  return `${path}:${name}`;
}

function* readProject(
  api: API,
  project: string,
  graphs: TypeJob["graphs"],
): Generator<[TypeJob["graphs"][number], ReadTypes | null]> {
  const snapshot = api.updateSnapshot({ openProjects: [project] });
  const opened = snapshot.getProject(project);
  if (opened === undefined) throw new Error(`The compiler did not open ${project}.`);
  const reader = new TypeReader(opened.checker);
  const types = new GraphTypes(opened.program, opened.checker);
  const files = types.files();
  const subgraphs = types.subgraphs().map(({ node, graph }) => ({ node, ...partSchemas(reader, types.parts(graph)) }));
  for (const graph of graphs) {
    const type = types.exported(graph.path, graph.name);
    const found = type === undefined ? null : { ...partSchemas(reader, types.parts(type)), subgraphs, files };
    yield [graph, found];
  }
  snapshot.dispose();
}

function partSchemas(reader: TypeReader, parts: GraphParts): PartSchemas {
  const output = reader.values(parts.output);
  // A workflow of the functional API stores its result.
  const state = reader.values(parts.state) ?? output;
  return {
    state,
    input: reader.values(parts.input) ?? only(state, parts.inputNames),
    output: output ?? only(state, parts.outputNames),
    context: reader.values(parts.context),
  };
}

function only(state: PartSchemas["state"], names: string[] | undefined): PartSchemas["state"] {
  const properties = state?.["properties"];
  if (typeof properties !== "object" || properties === null || names === undefined) return state;
  return {
    ...state,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name))),
  };
}
