import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { languages } from "../tools/definition-patterns.ts";
import { definitionsOf } from "../tools/list-code-definition-names.ts";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { aWorkspace, type Workspace } from "../../../tests/support/a-workspace.ts";
import { codeTools } from "../tools/index.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(() => workspace[Symbol.asyncDispose]());

const namesIn = async (ending: string, text: string): Promise<string[]> => {
  const language = languages[ending];
  const found = language === undefined ? [] : await definitionsOf(text, language, () => undefined);
  return found.map(({ kind, name }) => `${kind} ${name}`);
};

describe("definitions", () => {
  it.each<[string, string, string[]]>([
    [
      "ts",
      'import x from "y";\nexport interface Shape<T> {\n  area(): number;\n}\nexport type Id = string;\nenum Kind { A }\nexport abstract class Box extends Base {\n  #size = 1;\n  constructor(private readonly a: number) {\n    if (a) {\n    }\n  }\n  static async open(path: string): Promise<Box> {\n    return await load(path);\n  }\n  get size() {\n    for (const a of b) {\n    }\n  }\n}\nexport const most = 5;\nconst twice = (n: number): number => n * 2;\nexport default async function main() {}\nnamespace Old {}\n',
      [
        "interface Shape",
        "type Id",
        "enum Kind",
        "class Box",
        "method constructor",
        "method open",
        "method size",
        "constant most",
        "function twice",
        "function main",
        "namespace Old",
      ],
    ],
    [
      "py",
      'import os\n\n"""\nclass InText:\n"""\nclass A(B):\n    def method(self):\n        """def not_me():"""\n        pass\n\nasync def run():\n    # def comment():\n    pass\n',
      ["class A", "function method", "function run"],
    ],
    [
      "java",
      "package a.b;\npublic class Shop {\n    private final int x = 1;\n    public Shop(int x) {\n    }\n    public static <T> List<T> all(String name) throws IOException {\n        return find(name);\n    }\n    /* public void old() { */\n}\ninterface Seller {}\n",
      ["namespace a.b", "class Shop", "constructor Shop", "interface Seller"],
    ],
    [
      "cs",
      "namespace App.Core\n{\n    public sealed record Order(int Id);\n    public class Cart\n    {\n        public async Task<int> CountAsync(string name)\n        {\n            return await db.Count(name);\n        }\n    }\n}\n",
      ["namespace App.Core", "class Order", "class Cart", "method CountAsync"],
    ],
    [
      "kt",
      "data class User(val id: Int)\ninterface Repo\nobject Main {\n    suspend fun <T> load(x: T): T = x\n    fun String.shout() = uppercase()\n}\n",
      ["class User", "interface Repo", "object Main", "function load", "function shout"],
    ],
    [
      "go",
      "package main\n\ntype Box struct {\n}\n\nfunc (b *Box) Open(name string) error {\n}\n\nfunc main() {\n}\n",
      ["type Box", "method Open", "function main"],
    ],
    [
      "rs",
      "pub struct Box<T> {}\npub(crate) enum Kind {}\npub trait Shape {}\nimpl<T> Shape for Box<T> {\n    pub async fn open(&self) {}\n}\nmacro_rules! say {}\nmod tests {}\n",
      [
        "struct Box",
        "enum Kind",
        "trait Shape",
        "implementation Shape for Box<T>",
        "function open",
        "macro say",
        "module tests",
      ],
    ],
    [
      "c",
      "#define MOST 5\nstruct point {\n  int x;\n};\nstatic int add(int a, int b)\n{\n  return add(a, b);\n}\nint *find(const char *name) {\n}\nextern int other;\n",
      ["macro MOST", "class point", "function add", "function find"],
    ],
    [
      "cpp",
      "namespace app {\nclass Box : public Base {\n public:\n  virtual int size() const {\n    return 1;\n  }\n};\nvoid Box::open(int a) {\n  while (a) {\n  }\n}\n}\n",
      ["namespace app", "class Box", "method size", "function Box::open"],
    ],
    [
      "rb",
      "module App\n  class Box\n    def open!(name)\n    end\n    def self.make\n    end\n  end\nend\n",
      ["module App", "class Box", "method open!", "method self.make"],
    ],
    [
      "php",
      "<?php\nfinal class Box {\n  public static function make(): self {\n  }\n}\nfunction helper() {}\n// function no() {}\n",
      ["class Box", "function make", "function helper"],
    ],
    [
      "swift",
      "public struct Box {\n  func open() -> Int {\n  }\n}\nprotocol Shape {}\nextension Box {}\n",
      ["class Box", "function open", "protocol Shape", "class Box"],
    ],
    [
      "scala",
      "case class Box(a: Int)\nobject Main {\n  def run(): Unit = {}\n}\ntrait Shape\n",
      ["class Box", "object Main", "function run", "trait Shape"],
    ],
    [
      "lua",
      "local function add(a)\nend\nM.open = function(x)\nend\n--[[\nfunction no()\n]]\n",
      ["function add", "function M.open"],
    ],
    ["sh", "build() {\n  echo\n}\nfunction clean {\n}\n# no() {\n", ["function build", "function clean"]],
    [
      "sql",
      "CREATE TABLE IF NOT EXISTS orders (id int);\ncreate or replace view v as select 1;\n",
      ["object orders", "object v"],
    ],
    [
      "cir",
      "* amplifier\n.subckt stage in out\n.model NM NMOS\n.param gain=10\n.ends\n",
      ["subcircuit stage", "model NM", "parameter gain"],
    ],
  ])("of %s are found", async (ending, text, expected) => {
    expect(await namesIn(ending, text)).toEqual(expect.arrayContaining(expected));
    const extra = (await namesIn(ending, text)).filter((name) => !expected.includes(name));
    expect(extra.filter((name) => !/^method all$/u.test(name))).toEqual([]);
  });

  it("of this project's own sources hold every exported function and class", async () => {
    const path = "src/tools/runtime/registry.ts";
    const text = readFileSync(join(projectFolder, path), "utf8");
    const exported = [...text.matchAll(/^export (?:async )?(?:function|class|interface) (\w+)/gmu)].map(
      ([, name]) => name,
    );
    const found = (await namesIn("ts", text)).map((one) => one.split(" ")[1]);
    expect(exported.length).toBeGreaterThan(3);
    expect(exported.filter((name) => !found.includes(name))).toEqual([]);
  });

  it.each([
    ["a long line of one letter", "a".repeat(200_000)],
    ["brackets without end", "  public ".repeat(40) + "f(".repeat(5000)],
    ["words without end", "static ".repeat(5000)],
    ["types without end", `${"List<".repeat(5000)} x(`],
    ["stars and then letters", `x${"*".repeat(79)}${"a".repeat(200)}\n`.repeat(600)],
  ])("are looked for in time that grows with the text: %s, in every language", async (_, line) => {
    const text = `${line}\n`.repeat(20);
    // A pattern that backtracks would need minutes; the test has seconds.
    for (const language of new Set(Object.values(languages))) {
      expect((await definitionsOf(text, language, () => undefined)).length).toBeLessThanOrEqual(20);
    }
  });
});

describe("list_code_definition_names", () => {
  const list = (path?: string) => workspace.call(codeTools.list_code_definition_names, { path });

  it("lists the files of a folder with their definitions and lines, nested ones indented", async () => {
    await workspace.fill({
      "src/a.ts": "export class A {\n  open(): void {\n  }\n}\n",
      "src/deep/b.py": "def run():\n    pass\n",
      "src/readme.md": "# class Not\n",
      "node_modules/x/i.js": "class Other {}\n",
    });
    const { content, data } = await list("src");
    expect(content).toBe("src/a.ts\n1: class A\n2:   method open\nsrc/deep/b.py\n1: function run");
    expect(data).toMatchObject({ complete: true, files: [{ path: "src/a.ts" }, { path: "src/deep/b.py" }] });
    expect((await list(".")).content).not.toContain("Other");
    expect(await list()).toEqual(await list("."));
  });

  it("says how it goes on when there is more than an answer holds", async () => {
    const many = Array.from({ length: 900 }, (_, index) => `export function number${index}() {}\n`).join("");
    await workspace.fill({ "many.ts": many });
    const { content } = await list("many.ts");
    expect(content).toContain("1: function number0");
    expect(content).toMatch(/\[more definitions are not shown; name a file or a smaller folder\]$/);
    expect(content?.length).toBeLessThan(16_000);
  });

  it.each([
    ["none.ts", "not_found"],
    ["../x.ts", "permission"],
    ["notes.txt", "invalid_format"],
    ["binary.ts", "invalid_format"],
  ])("says clearly what is wrong with %s", async (path, errorType) => {
    await workspace.fill({ "notes.txt": "class A\n", "binary.ts": "\0\0" });
    expect(await list(path)).toMatchObject({ success: false, errorType });
  });

  it("lists a folder without the files that are no text", async () => {
    await workspace.fill({ "binary.ts": "\0\0", "a.ts": "class A {}\n" });
    expect((await list(".")).content).toBe("a.ts\n1: class A");
  });
});
