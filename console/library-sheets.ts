import type { Plugin } from "vite";

/** A plugin that rewrites the sheet of a library before it is built. */
function rewrite(name: string, path: string, by: (sheet: string) => string): Plugin {
  return { name, enforce: "pre", transform: (code, id) => (id.endsWith(path) ? by(code) : undefined) };
}

/** Every browser that runs the page reads woff2; the other shapes of a font would only lie in the build. */
function onlyWoff2(sheet: string): string {
  return sheet.replaceAll(/,url\([^)]*\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)/gu, "");
}

/** The rules for a change of size, of which KaTeX has one for each pair of its eleven sizes. */
const changesOfSize = /(?:[^{}]*\.reset-size\d+\.size\d+)\{font-size:[^}]*\}/gu;

/** One rule that divides the two sizes says the same as those of all pairs. */
function dividedSizes(sheet: string): string {
  const sizes = [...sheet.matchAll(/\.katex-sizing\.reset-size6\.size(\d+)\{font-size:([\d.]+)em\}/gu)].map(
    ([, size = "", factor = ""]) => `.katex .size${size}{--size:${factor}}.katex .reset-size${size}{--reset:${factor}}`,
  );
  const divide = ".katex :is(.fontsize-ensurer,.katex-sizing){font-size:calc(1em*var(--size)/var(--reset))}";
  return sheet.replaceAll(changesOfSize, "") + sizes.join("") + divide;
}

/** The sheet of formulas. */
export const smallFormulas = rewrite("small-formulas", "katex.min.css", (sheet) => dividedSizes(onlyWoff2(sheet)));

/** What React Flow has for editing, its own boxes and buttons, a small map, and labels and backgrounds of other kinds. */
const unusedRules =
  /[^{}]*(?:minimap|resize|attribution|connection|handle|selection|edgeupdater|\.dark|controls|node-input|node\.draggable|animated|inactive|viewport-portal|edgelabel|pattern\.(?:lines|cross)|panel\.(?:top|left)|\.center)[^{}]*\{[^{}]*\}/gu;
const unusedProperties =
  /--xy-(?:minimap|resize|attribution|connectionline|handle|selection|node|background-pattern-(?:lines|cross))[^;{}]*;/gu;

/** Drawings here are read, not edited: the rest is left out of the sheet. */
export const readOnlyDrawings = rewrite("read-only-drawings", "@xyflow/react/dist/base.css", (sheet) =>
  sheet
    .replaceAll(/\/\*[\s\S]*?\*\//gu, "")
    .replaceAll(/@keyframes dashdraw \{[^{}]*\{[^{}]*\}\s*\}/gu, "")
    .replaceAll(unusedRules, "")
    .replaceAll(unusedProperties, ""),
);
