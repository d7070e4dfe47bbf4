/** The start of a definition on its line; the group `name` is its name. `kind` is the display name. */
export interface DefinitionPattern {
  kind: string;
  pattern: RegExp;
}

/** A language's definitions, and where they do not count. */
export interface Language {
  definitions: readonly DefinitionPattern[];
  /** Starts a comment that ends with the line. */
  lineComment: RegExp | null;
  /** Delimiters of multi-line text without definitions: comments and long strings. */
  spans: readonly { begin: string; end: string }[];
}

const name = String.raw`(?<name>[\p{L}_$][\p{L}\p{N}_$]*)`;
const cComments = { lineComment: /^\s*\/\//u, spans: [{ begin: "/*", end: "*/" }] };
/** Keywords in the position of a C-like function's name or type. */
const noFunction = String.raw`(?!(?:if|for|while|switch|catch|return|else|do|new|throw|await|function|using|lock|foreach|sizeof|typeof|delete|case|super|this|yield|with|assert)\b)`;

/**
 * Creates a pattern; blanks are ignored and `%` stands for the name. Adjacent parts match different characters, so that
 * it runs in linear time.
 */
function definition(kind: string, source: string): DefinitionPattern {
  return { kind, pattern: new RegExp(`^${source.replaceAll("%", () => name)}`, "u") };
}

const script: Language = {
  ...cComments,
  definitions: [
    definition("class", String.raw`\s*(?:export )?(?:default )?(?:declare )?(?:abstract )?class %`),
    definition("interface", String.raw`\s*(?:export )?(?:default )?(?:declare )?interface %`),
    definition("enum", String.raw`\s*(?:export )?(?:declare )?(?:const )?enum %`),
    definition("type", String.raw`\s*(?:export )?(?:declare )?type %[^=;]{0,200}=`),
    definition("namespace", String.raw`\s*(?:export )?(?:declare )?(?:namespace|module) %`),
    definition("function", String.raw`\s*(?:export )?(?:default )?(?:declare )?(?:async )?function ?\*? ?%`),
    definition(
      "function",
      String.raw`(?:export )?(?:const|let|var) %[^=]{0,200}= (?:async )?(?:\([^()]{0,200}\)|\w{1,60})(?: ?: ?[^=]{1,100})? ?=>`,
    ),
    definition("function", String.raw`(?:export )?(?:const|let|var) % ?= (?:async )?(?:function\b|\($)`),
    definition("constant", String.raw`export const %`),
    definition(
      "method",
      String.raw`\s+(?:(?:public|private|protected|static|override|abstract|readonly|async|get|set) ){0,5}\*?#?${noFunction}%(?:<[^()]{0,100}>)?\([^;]{0,250}[{,(]\s*$`,
    ),
  ],
};

const python: Language = {
  lineComment: /^\s*#/u,
  spans: [
    { begin: '"""', end: '"""' },
    { begin: "'''", end: "'''" },
  ],
  definitions: [definition("class", String.raw`\s*class %`), definition("function", String.raw`\s*(?:async )?def %`)],
};

const modifiers = String.raw`(?:(?:public|private|protected|internal|static|final|abstract|sealed|virtual|override|async|partial|synchronized|native|default|extern|unsafe|readonly|open|data|inline|suspend|const|strictfp|required|file) ){0,6}`;

const java: Language = {
  ...cComments,
  definitions: [
    definition("class", String.raw`\s*${modifiers}(?:class|record|struct) %`),
    definition("interface", String.raw`\s*${modifiers}interface %`),
    definition("enum", String.raw`\s*${modifiers}enum %`),
    definition("namespace", String.raw`\s*(?:namespace|package) (?<name>[\w.]+)`),
    definition("constructor", String.raw`\s+(?:public|private|protected|internal) %\(`),
    definition(
      "method",
      String.raw`\s+${modifiers}${noFunction}(?:[\w<>[\],.?]{1,100} ){1,3}${noFunction}%(?:<[^()]{0,60}>)?\([^;]{0,250}$`,
    ),
  ],
};

const kotlin: Language = {
  ...cComments,
  definitions: [
    definition("class", String.raw`\s*${modifiers}(?:enum |annotation )?class %`),
    definition("interface", String.raw`\s*${modifiers}(?:fun )?interface %`),
    definition("object", String.raw`\s*${modifiers}(?:companion )?object %`),
    definition("function", String.raw`\s*${modifiers}fun (?:<[^>]{0,60}> )?(?:\w{1,60}\.)?%`),
  ],
};

const go: Language = {
  ...cComments,
  definitions: [
    definition("method", String.raw`func \([^)]{1,100}\) %`),
    definition("function", String.raw`func %`),
    definition("type", String.raw`type %`),
  ],
};

const rust: Language = {
  ...cComments,
  definitions: [
    definition(
      "function",
      String.raw`\s*(?:pub(?:\([^)]{1,30}\))? )?(?:(?:const|async|unsafe|extern(?: "\w+")?) ){0,4}fn %`,
    ),
    definition("struct", String.raw`\s*(?:pub(?:\([^)]{1,30}\))? )?(?:struct|union) %`),
    definition("enum", String.raw`\s*(?:pub(?:\([^)]{1,30}\))? )?enum %`),
    definition("trait", String.raw`\s*(?:pub(?:\([^)]{1,30}\))? )?(?:unsafe )?trait %`),
    definition("type", String.raw`\s*(?:pub(?:\([^)]{1,30}\))? )?type %`),
    definition("module", String.raw`\s*(?:pub(?:\([^)]{1,30}\))? )?mod %`),
    definition("implementation", String.raw`\s*(?:unsafe )?impl(?:<[^{]{0,100}>)? (?<name>[^{]{1,120})`),
    definition("macro", String.raw`\s*macro_rules! %`),
  ],
};

const c: Language = {
  ...cComments,
  definitions: [
    definition(
      "class",
      String.raw`\s*(?:template ?<[^>]{0,100}> ?)?(?:class|struct|union) (?:\w+_API )?%[^;()]{0,200}$`,
    ),
    definition("enum", String.raw`\s*(?:typedef )?enum (?:class )?%`),
    definition("namespace", String.raw`\s*namespace %`),
    definition("macro", String.raw`#\s?define %`),
    definition(
      "function",
      String.raw`${noFunction}[\w:<>*&,][\w:<>*&, ~]{0,200}?(?<=[ *&])(?<name>~?[A-Za-z_][\w:~]{0,100})\([^;]{0,250}$`,
    ),
    definition(
      "method",
      String.raw`\s+(?:(?:virtual|static|inline|explicit|constexpr|const) ){0,4}${noFunction}[\w:<>*&]{1,80} [*&]?${noFunction}%\([^;]{0,200}\{\s*$`,
    ),
  ],
};

const ruby: Language = {
  lineComment: /^\s*#/u,
  spans: [{ begin: "=begin", end: "=end" }],
  definitions: [
    definition("class", String.raw`\s*class (?<name>[A-Z][\w:]*)`),
    definition("module", String.raw`\s*module (?<name>[A-Z][\w:]*)`),
    definition("method", String.raw`\s*def (?<name>(?:self\.)?[\p{L}_]\w*[?!=]?)`),
  ],
};

const php: Language = {
  lineComment: /^\s*(?:\/\/|#)/u,
  spans: [{ begin: "/*", end: "*/" }],
  definitions: [
    definition("class", String.raw`\s*(?:(?:abstract|final|readonly) ){0,3}class %`),
    definition("interface", String.raw`\s*interface %`),
    definition("trait", String.raw`\s*trait %`),
    definition("enum", String.raw`\s*enum %`),
    definition("function", String.raw`\s*(?:(?:public|private|protected|static|abstract|final) ){0,4}function &?%`),
  ],
};

const swift: Language = {
  ...cComments,
  definitions: [
    definition("class", String.raw`\s*(?:[\w@()]+ ){0,4}(?:class|struct|actor|extension) (?!func\b|var\b)%`),
    definition("protocol", String.raw`\s*(?:\w+ ){0,2}protocol %`),
    definition("enum", String.raw`\s*(?:\w+ ){0,3}enum %`),
    definition("function", String.raw`\s*(?:[\w@()]+ ){0,5}func %`),
  ],
};

const scala: Language = {
  ...cComments,
  definitions: [
    definition("class", String.raw`\s*(?:\w+ ){0,3}class %`),
    definition("object", String.raw`\s*(?:\w+ ){0,2}object %`),
    definition("trait", String.raw`\s*(?:\w+ ){0,2}trait %`),
    definition("function", String.raw`\s*(?:\w+ ){0,3}def %`),
  ],
};

const lua: Language = {
  lineComment: /^\s*--(?!\[\[)/u,
  spans: [{ begin: "--[[", end: "]]" }],
  definitions: [
    definition("function", String.raw`\s*(?:local )?function (?<name>[\w.:]+)`),
    definition("function", String.raw`\s*(?:local )?(?<name>[\w.]+) ?= ?function\b`),
  ],
};

const shell: Language = {
  lineComment: /^\s*#/u,
  spans: [],
  definitions: [
    definition("function", String.raw`\s*function (?<name>[\w:-]+)`),
    definition("function", String.raw`\s*(?<name>[\w:-]+) ?\(\)`),
  ],
};

const sql: Language = {
  lineComment: /^\s*--/u,
  spans: [{ begin: "/*", end: "*/" }],
  definitions: [
    definition(
      "object",
      String.raw`\s*[Cc](?:REATE|reate) (?:[Oo](?:R|r) [Rr](?:EPLACE|eplace) )?(?:\w+ ){0,3}?(?:TABLE|VIEW|INDEX|FUNCTION|PROCEDURE|TRIGGER|table|view|index|function|procedure|trigger) (?:(?:IF NOT EXISTS|if not exists) )?(?<name>[\w."]+)`,
    ),
  ],
};

const spice: Language = {
  lineComment: /^\s*\*/u,
  spans: [],
  definitions: [
    definition("subcircuit", String.raw`\s*\.(?:subckt|SUBCKT|Subckt)\s+(?<name>\S+)`),
    definition("model", String.raw`\s*\.(?:model|MODEL|Model)\s+(?<name>\S+)`),
    definition("parameter", String.raw`\s*\.(?:param|PARAM|Param)\s+(?<name>\w+)`),
  ],
};

/** The language by lower-case file extension. */
export const languages: Readonly<Record<string, Language>> = {
  ts: script,
  tsx: script,
  mts: script,
  cts: script,
  js: script,
  jsx: script,
  mjs: script,
  cjs: script,
  vue: script,
  svelte: script,
  py: python,
  pyi: python,
  java,
  cs: java,
  kt: kotlin,
  kts: kotlin,
  go,
  rs: rust,
  c,
  h: c,
  cc: c,
  cpp: c,
  cxx: c,
  hpp: c,
  rb: ruby,
  php,
  swift,
  scala,
  lua,
  sh: shell,
  bash: shell,
  sql,
  cir: spice,
  sp: spice,
  spice,
  lib: spice,
  sub: spice,
};
