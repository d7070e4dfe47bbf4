/** Where a link of a text leads: out to the web, to a file of the workspace, or nowhere that a click should go. */
export type Target = { kind: "web"; address: string; host: string } | { kind: "file"; path: string } | { kind: "none" };

const schemes = new Set(["http:", "https:", "mailto:"]);
/** An address that begins with a scheme of its own, or with a host. */
const withScheme = /^[a-z][a-z\d+.-]*:|^\/\//iu;

/** Reads the address of a link. Whatever is neither the web, mail nor a path is nothing. */
export function targetOf(address: string): Target {
  const text = address.trim().replace(/^<(.*)>$/su, "$1");
  if (!withScheme.test(text)) {
    const path = text.replace(/[#?].*$/su, "");
    return path === "" || /[\p{Cc}\\]/u.test(path) ? { kind: "none" } : { kind: "file", path };
  }
  try {
    const url = new URL(text);
    if (!schemes.has(url.protocol)) return { kind: "none" };
    return { kind: "web", address: url.href, host: url.protocol === "mailto:" ? url.pathname : url.host };
  } catch {
    return { kind: "none" };
  }
}

/** Endings by which a name in code is that of a file: `README.md`, but not `Array.from`. */
const endings =
  /\.(?:c|cfg|cir|cpp|css|csv|go|h|html?|ini|java|jpe?g|js|json|jsonl|jsx|lib|log|md|mjs|pdf|png|py|rb|rs|sh|sp|sql|svg|toml|tsv|tsx?|txt|xml|ya?ml)$/iu;
/** A line of the file, behind its name. */
const line = /:\d+(?:[:-]\d+)*$/u;

/** A path without the line of the file that stands behind it. */
export function withoutLine(path: string): string {
  return path.replace(line, "");
}

/** The path of a file that a text in code names, if it is one and nothing else. */
export function pathIn(code: string): string | undefined {
  const path = withoutLine(code.trim());
  return path.length <= 300 && endings.test(path) && /^[\p{L}\p{N}_@./-]+$/u.test(path) ? path : undefined;
}

/** Marks that would turn the direction of a text are shown as what they are, so that a name cannot look like another. */
export function visible(text: string): string {
  return text.replaceAll(
    /[\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C]/gu,
    (mark) => `⟨U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}
