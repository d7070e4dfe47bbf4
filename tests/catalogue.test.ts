import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { workflow } from "../src/graph/workflow.ts";
import { guardrails, turnRules } from "../src/guardrails/index.ts";
import { providers } from "@millrace/models/index";
import { nodes as ownNodes } from "../src/nodes/index.ts";
import { promptParts, workflowAdditions } from "../src/toolkits/composition.ts";
import { builtInTools } from "../src/toolkits/enabled-toolkits.ts";
import { filesBelow, projectFolder, readSource, sourceFiles } from "./support/source-files.ts";

const tools = builtInTools();
const { templates } = promptParts();
const nodes = { ...ownNodes, ...Object.assign({}, ...workflowAdditions().map((one) => one.nodes)) };

const read = (path: string): string => readFileSync(join(projectFolder, path), "utf8");
const camelCase = (name: string): string => name.replaceAll(/[-_](\w)/gu, (_, letter: string) => letter.toUpperCase());
const kebabCase = (name: string): string =>
  name.replaceAll("_", "-").replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);

const baseName = (path: string): string => (path.split("/").at(-1) ?? "").replace(".ts", "");

/** Files of a folder that export something of the given shape, by what the source says. */
function filesThat(folder: string, says: RegExp): string[] {
  const ofToolkits = filesBelow("toolkits").filter((path) => !path.includes("/tests/"));
  const files = [...filesBelow(folder), ...ofToolkits];
  return files.filter((path) => says.test(read(path)) && !path.endsWith("/index.ts"));
}

describe("the list of tools", () => {
  it("names every tool as the model calls it", () => {
    expect(Object.entries(tools).filter(([key, tool]) => key !== tool.name)).toEqual([]);
    expect(Object.keys(tools).filter((name) => !/^[a-z]+(_[a-z]+)*$/u.test(name))).toEqual([]);
  });

  it("has a file of its own for every tool, and lists every file that defines one", () => {
    const defined = filesThat("src/tools", /export const \w+ = defineTool\(/u);
    const names = defined.map((path) => baseName(path).replaceAll("-", "_"));
    expect(names.toSorted()).toEqual(Object.keys(tools).toSorted());
    for (const path of defined) {
      const expected = camelCase(baseName(path));
      expect(
        readSource(path).exports.map(({ name }) => name),
        path,
      ).toContain(expected);
    }
  });

  it("describes every tool and every parameter to the model", () => {
    for (const tool of Object.values(tools)) {
      expect(tool.description.length, tool.name).toBeGreaterThan(30);
      for (const [name, parameter] of Object.entries(tool.schema.shape)) {
        // What a model does not get needs no words for it.
        if (tool.parameters !== undefined && !JSON.stringify(tool.parameters).includes(`"${name}"`)) continue;
        // Descriptions may stand on the parameter or inside an optional one.
        const description: unknown = parameter.description;
        expect(description, `${tool.name}.${name}`).toBeTypeOf("string");
      }
    }
  });
});

describe("the list of nodes", () => {
  it("names every node file, and every node is in the drawing", () => {
    const files = filesThat("src/nodes", /export const \w+: WorkflowNode/u);
    expect(files.map(baseName).toSorted()).toEqual(Object.keys(nodes).map(kebabCase).toSorted());
    expect(Object.keys(workflow.nodes).toSorted()).toEqual(Object.keys(nodes).toSorted());
  });
});

describe("the list of guardrails", () => {
  it("names every rule and nothing else", () => {
    const files = filesThat("src/guardrails", /export const \w+: Guardrail\b/u).filter((path) =>
      path.startsWith("src/"),
    );
    expect(files).toEqual(
      Object.keys(guardrails)
        .map((name) => `src/guardrails/rules/${kebabCase(name)}.ts`)
        .toSorted(),
    );
  });
});

describe("the list of rules against loops", () => {
  it("names every rule and nothing else, as its findings do", () => {
    const files = filesThat("src/guardrails", /export const \w+: TurnRule\b/u);
    expect(files).toEqual(
      Object.keys(turnRules)
        .map((name) => `src/guardrails/rules/${kebabCase(name)}.ts`)
        .toSorted(),
    );
  });

  it("has a row in docs/assistant/guardrails.md for every rule", () => {
    const page = read("docs/assistant/guardrails.md");
    expect(Object.keys(turnRules).filter((name) => !page.includes(`| \`${name}\``))).toEqual([]);
  });
});

describe("the list of providers", () => {
  it("names every provider, and the README and .env.example name them too", () => {
    const exported = filesBelow("packages/models/src").flatMap((path) =>
      [...read(path).matchAll(/export const (\w+)(?:: Provider =| = openAiCompatible\()/gu)].map(
        ([, name]) => name ?? "",
      ),
    );
    expect(exported.toSorted()).toEqual(Object.keys(providers).toSorted());
    const documents = [read("README.md"), read(".env.example")];
    for (const name of Object.keys(providers)) {
      for (const document of documents) expect(document).toContain(`${name}:`);
    }
  });
});

/** What reads and writes the overrides of prompts; the rest of the folder is pure. */
const promptMachinery = new Set(["manager", "identity-manager", "open-prompts"]);

describe("the prompts", () => {
  it("are files with pure functions: no clock, no chance, no files", () => {
    for (const path of filesBelow("src/prompts").filter((file) => !promptMachinery.has(baseName(file)))) {
      const source = readSource(path);
      expect(source.exports.length, path).toBeGreaterThan(0);
      expect(
        source.imports.filter((request) => request.startsWith("node:")),
        path,
      ).toEqual([]);
      expect(source.text, path).not.toMatch(/Date\.now|new Date|Math\.random|randomUUID/u);
    }
  });

  it("are all in the list of templates, each in a file of its name", () => {
    const defined = sourceFiles().flatMap((path) =>
      [...read(path).matchAll(/= defineTemplate\(\{\s*name: "(\w+)"/gu)].map(([, name]) => ({
        path,
        name: name ?? "",
      })),
    );
    expect(defined.map(({ name }) => name).toSorted()).toEqual(Object.keys(templates).toSorted());
    for (const { path, name } of defined) {
      expect(kebabCase(name).includes(baseName(path)), path).toBe(true);
    }
  });

  it("hold every text that the program says to the model by them", () => {
    const saying = filesBelow("src/prompts").filter(
      (path) => /export function \w+(?:Prompt|Note)\(/u.test(read(path)) && !read(path).includes("defineTemplate("),
    );
    expect(saying).toEqual([]);
  });
});

describe("langgraph.json", () => {
  it.each(["langgraph.json", "tests/bench/langgraph.json"])("%s names graphs that are there", async (path) => {
    const manifest: { graphs: Record<string, string> } = JSON.parse(read(path));
    expect(Object.keys(manifest.graphs)).toContain("agent");
    for (const place of Object.values(manifest.graphs)) {
      const [file = "", name = ""] = place.split(":");
      const full = join(projectFolder, path, "..", file);
      expect(existsSync(full), place).toBe(true);
      expect(readFileSync(full, "utf8"), place).toContain(`export const ${name} =`);
    }
  });
});

describe(".env.example", () => {
  const namesIn = (file: string): string[] =>
    [...read(`packages/engine/src/config/${file}`).matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gmu)].map(
      ([, name]) => name ?? "",
    );
  // The schema begins with the variables of operation, and ends with those of telemetry.
  const ofTheServer = ["operation-settings.ts", "config.ts", "telemetry-settings.ts"].flatMap(namesIn);
  // Read when the graphs are: a langgraph.json may set it.
  const variables = [...ofTheServer, "LANGGRAPH_CONFIG"];
  const example = parseEnv(read(".env.example"));

  it("lists exactly the variables that the program reads", () => {
    expect(variables.length).toBeGreaterThan(10);
    expect(Object.keys(example).toSorted()).toEqual(variables.toSorted());
  });

  it("has them in the order of the catalogue", () => {
    // parseEnv sorts them.
    const names = [...read(".env.example").matchAll(/^([A-Z][A-Z0-9_]+)=/gmu)].map(([, name]) => name);
    expect(names.filter((name) => name !== "LANGGRAPH_CONFIG")).toEqual(ofTheServer);
  });

  it("means the defaults, so that copying it changes nothing", () => {
    // That they were given is another matter: GET /settings returns it.
    expect({ ...loadConfig(example), given: {} }).toEqual(loadConfig({}));
  });

  it("has every variable in the table of docs/operate/configuration.md", () => {
    const table = read("docs/operate/configuration.md");
    expect(variables.filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
  });
});
