import { scanXml, type XmlAttributes } from "./scan-xml.ts";

/** An element of an equation (Office MathML) with its content. */
interface MathNode {
  name: string;
  attributes: XmlAttributes;
  children: MathNode[];
  text: string;
}

const namespace = /xmlns:([\w.-]+)\s*=\s*["'][^"']*\/(?:officeDocument\/2006|ooxml\/officeDocument)\/math["']/u;
/** LaTeX names of accents and large operators. */
const accents: Record<string, string> = {
  "\u0302": "hat",
  "\u0303": "tilde",
  "\u0304": "bar",
  "\u0305": "bar",
  "\u0307": "dot",
  "\u20D7": "vec",
};
const operators: Record<string, string> = {
  "∑": "sum",
  "∏": "prod",
  "∫": "int",
  "∮": "oint",
  "⋃": "bigcup",
  "⋂": "bigcap",
};

/**
 * Converts each equation of a Word document part to a run of LaTeX between dollar signs, since the document reader
 * would drop equations.
 */
export function equationsAsText(xml: string): { xml: string; count: number } {
  const prefix = namespace.exec(xml)?.[1];
  if (prefix === undefined) return { xml, count: 0 };
  let count = 0;
  const replaced = replaceElements(xml, `${prefix}:oMath`, (inside) => {
    count += 1;
    return `<w:r><w:t xml:space="preserve">${escaped(`$${mathText(inside)}$`)}</w:t></w:r>`;
  });
  const withoutSettings = replaceElements(replaced, `${prefix}:oMathParaPr`, () => "");
  const paragraph = new RegExp(String.raw`<${prefix}:oMathPara(?:\s[^<>]*)?>|</${prefix}:oMathPara>`, "gu");
  return { xml: withoutSettings.replaceAll(paragraph, ""), count };
}

/** Replaces each element of this name by a function of its content. Linear time. */
function replaceElements(xml: string, name: string, replacement: (inside: string) => string): string {
  const kept: string[] = [];
  const close = `</${name}>`;
  let at = 0;
  for (const { 0: tag, index } of xml.matchAll(new RegExp(String.raw`<${name}(?:\s[^<>]*)?>`, "gu"))) {
    if (index < at) continue;
    const inside = index + tag.length;
    const end = xml.indexOf(close, inside);
    if (end === -1) break;
    kept.push(xml.slice(at, index), replacement(xml.slice(inside, end)));
    at = end + close.length;
  }
  return [...kept, xml.slice(at)].join("");
}

/** An equation's content in LaTeX. */
export function mathText(xml: string): string {
  return inOrder(treeOf(xml)).replaceAll("\u2212", "-").replaceAll(/\s+/gu, " ").trim();
}

function treeOf(xml: string): MathNode {
  const root: MathNode = { name: "", attributes: new Map(), children: [], text: "" };
  const open = [root];
  for (const piece of scanXml(xml)) {
    const parent = open.at(-1) ?? root;
    if (piece.kind === "text") parent.text += parent.name === "t" ? piece.text : "";
    else if (piece.kind === "close") {
      if (open.length > 1) open.pop();
    } else {
      const node: MathNode = { name: piece.name, attributes: piece.attributes, children: [], text: "" };
      parent.children.push(node);
      if (piece.kind === "open") open.push(node);
    }
  }
  return root;
}

function inOrder({ children }: MathNode): string {
  return children.map(written).join("");
}

/** A node's child of this name, converted. */
function part(node: MathNode, name: string): string {
  const found = node.children.find((child) => child.name === name);
  return found === undefined ? "" : inOrder(found);
}

/** A node's setting: `chr`, `begChr` and the like. */
function setting(node: MathNode, name: string): string | undefined {
  const settings = node.children.find((child) => child.name === `${node.name}Pr`);
  const found = settings?.children.find((child) => child.name === name);
  return found?.attributes.get("val");
}

function written(node: MathNode): string {
  switch (node.name) {
    case "t":
      return node.text;
    case "f":
      return String.raw`\frac{${part(node, "num")}}{${part(node, "den")}}`;
    case "sSup":
      return `${grouped(part(node, "e"))}^{${part(node, "sup")}}`;
    case "sSub":
      return `${grouped(part(node, "e"))}_{${part(node, "sub")}}`;
    case "sSubSup":
      return `${grouped(part(node, "e"))}_{${part(node, "sub")}}^{${part(node, "sup")}}`;
    case "rad":
      return rootText(part(node, "deg"), part(node, "e"));
    case "nary":
      return operatorText(node);
    case "d":
      return delimited(node);
    case "func":
      return `${part(node, "fName")} ${part(node, "e")}`;
    case "limLow":
      return `${part(node, "e")}_{${part(node, "lim")}}`;
    case "limUpp":
      return `${part(node, "e")}^{${part(node, "lim")}}`;
    case "acc":
      return `\\${accents[setting(node, "chr") ?? "\u0302"] ?? "hat"}{${part(node, "e")}}`;
    case "bar":
      return String.raw`\overline{${part(node, "e")}}`;
    case "m":
      return String.raw`\begin{matrix}${rows(node, "mr")}\end{matrix}`;
    case "eqArr":
      return String.raw`\begin{aligned}${rows(node, "e")}\end{aligned}`;
    default:
      // Properties affect the look, not the content.
      return node.name.endsWith("Pr") ? "" : inOrder(node);
  }
}

function grouped(text: string): string {
  return text.length > 1 ? `{${text}}` : text;
}

function rootText(degree: string, inside: string): string {
  return degree === "" ? String.raw`\sqrt{${inside}}` : String.raw`\sqrt[${degree}]{${inside}}`;
}

function operatorText(node: MathNode): string {
  const sign = setting(node, "chr") ?? "∫";
  const name = operators[sign];
  const [below, above] = [part(node, "sub"), part(node, "sup")];
  const limits = (below === "" ? "" : `_{${below}}`) + (above === "" ? "" : `^{${above}}`);
  return `${name === undefined ? sign : `\\${name}`}${limits} ${part(node, "e")}`;
}

function delimited(node: MathNode): string {
  const inside = node.children.filter(({ name }) => name === "e").map(inOrder);
  return `${setting(node, "begChr") ?? "("}${inside.join(setting(node, "sepChr") ?? "|")}${setting(node, "endChr") ?? ")"}`;
}

function rows(node: MathNode, name: string): string {
  const lines = node.children.filter((child) => child.name === name);
  const cells = (line: MathNode): string =>
    name === "e"
      ? inOrder(line)
      : line.children
          .filter((child) => child.name === "e")
          .map(inOrder)
          .join(" & ");
  return lines.map(cells).join(String.raw` \\ `);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
