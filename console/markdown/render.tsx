import type { SyntaxNode } from "@lezer/common";
import { Fragment, type ReactNode } from "react";
import { CodeBlock } from "./code.tsx";
import { entity } from "./entities.ts";
import { targetOf } from "./links.ts";
import { parser } from "./parser.ts";

/** What the renderer reads beside the tree. */
interface Source {
  text: string;
  definitions: ReadonlyMap<string, string>;
  isOpen: boolean;
}

/** Depth of nesting from which what is inside is shown as its text: a tree of a million levels is no text for people. */
const deepest = 60;
/** Nodes that only mark where something begins or ends. */
const marks = new Set([
  "EmphasisMark",
  "CodeMark",
  "LinkMark",
  "QuoteMark",
  "ListMark",
  "HeaderMark",
  "StrikethroughMark",
  "TableDelimiter",
  "CodeInfo",
  "LinkTitle",
  "TaskMarker",
  "LinkReference",
]);

/** A block of Markdown as React elements; there is no way from it to HTML. */
export function renderBlock(text: string, definitions: ReadonlyMap<string, string>, isOpen: boolean): ReactNode {
  const source: Source = { text, definitions, isOpen };
  return children(parser.parse(text).topNode, source, 0);
}

function children(node: SyntaxNode, source: Source, depth: number): ReactNode[] {
  const found: ReactNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (!marks.has(child.name)) found.push(<Fragment key={child.from}>{block(child, source, depth + 1)}</Fragment>);
  }
  return found;
}

function slice(node: { from: number; to: number }, { text }: Source): string {
  return text.slice(node.from, node.to);
}

function block(node: SyntaxNode, source: Source, depth: number): ReactNode {
  if (depth > deepest) return slice(node, source);
  switch (node.name) {
    case "Paragraph":
      return <p>{inline(node, source, depth)}</p>;
    case "ATXHeading1":
    case "SetextHeading1":
      return <h3 className="md-1">{inline(node, source, depth)}</h3>;
    case "ATXHeading2":
    case "SetextHeading2":
      return <h4 className="md-2">{inline(node, source, depth)}</h4>;
    case "ATXHeading3":
      return <h5 className="md-3">{inline(node, source, depth)}</h5>;
    case "ATXHeading4":
    case "ATXHeading5":
    case "ATXHeading6":
      return <h6 className="md-4">{inline(node, source, depth)}</h6>;
    case "Blockquote":
      return <blockquote>{children(node, source, depth)}</blockquote>;
    case "BulletList":
      return <ul>{items(node, source, depth)}</ul>;
    case "OrderedList": {
      const first = Number.parseInt(slice(node, source), 10);
      return (
        <ol {...(first !== 1 && Number.isSafeInteger(first) && { start: first })}>{items(node, source, depth)}</ol>
      );
    }
    case "FencedCode":
    case "CodeBlock":
      return code(node, source);
    case "HorizontalRule":
      return <hr />;
    case "Table":
      return table(node, source, depth);
    case "HTMLBlock":
    case "CommentBlock":
    case "ProcessingInstructionBlock":
      return <p className="md-html">{slice(node, source)}</p>;
    case "Task":
      return inline(node, source, depth);
    default:
      return inline(node, source, depth);
  }
}

function items(node: SyntaxNode, source: Source, depth: number): ReactNode[] {
  return node.getChildren("ListItem").map((item) => {
    const task = item.getChild("Task");
    const marker = task?.getChild("TaskMarker");
    const isLoose = item.getChildren("Paragraph").length > 1;
    const content: ReactNode[] = [];
    for (let child = item.firstChild; child !== null; child = child.nextSibling) {
      if (marks.has(child.name)) continue;
      const isTight = child.name === "Paragraph" && !isLoose;
      content.push(
        <Fragment key={child.from}>
          {isTight ? inline(child, source, depth + 1) : block(child, source, depth + 1)}
        </Fragment>,
      );
    }
    if (!marker) return <li key={item.from}>{content}</li>;
    const isDone = /x/iu.test(slice(marker, source));
    return (
      <li key={item.from} className="md-task">
        <input type="checkbox" checked={isDone} readOnly tabIndex={-1} aria-label={isDone ? "✓" : "○"} />
        <span>{content}</span>
      </li>
    );
  });
}

function code(node: SyntaxNode, source: Source): ReactNode {
  const info = node.getChild("CodeInfo");
  const language = info === null ? "" : (/^\S*/u.exec(slice(info, source))?.[0] ?? "");
  const text = node
    .getChildren("CodeText")
    .map((part) => slice(part, source))
    .join("");
  const isClosed = node.name === "CodeBlock" || node.getChildren("CodeMark").length > 1;
  return <CodeBlock text={text} language={language} isOpen={source.isOpen && !isClosed} />;
}

function table(node: SyntaxNode, source: Source, depth: number): ReactNode {
  const header = node.getChild("TableHeader");
  const delimiter = node.getChild("TableDelimiter");
  const sides = (delimiter === null ? "" : slice(delimiter, source))
    .split("|")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => (part.endsWith(":") ? (part.startsWith(":") ? "center" : "right") : undefined));
  const cells = (row: SyntaxNode, Cell: "th" | "td") =>
    row.getChildren("TableCell").map((cell, index) => (
      <Cell key={cell.from} {...(sides[index] !== undefined && { "data-align": sides[index] })}>
        {inline(cell, source, depth + 1)}
      </Cell>
    ));
  return (
    <div className="md-table" tabIndex={0} role="region" aria-label="table">
      <table>
        {header !== null && (
          <thead>
            <tr>{cells(header, "th")}</tr>
          </thead>
        )}
        <tbody>
          {node.getChildren("TableRow").map((row) => (
            <tr key={row.from}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The inside of a block or of a piece of it: texts, and elements between them. */
function inline(node: SyntaxNode, source: Source, depth: number): ReactNode[] {
  if (depth > deepest) return [slice(node, source)];
  const found: ReactNode[] = [];
  let at = node.from;
  const say = (to: number) => {
    if (to > at) found.push(source.text.slice(at, to).replaceAll(/\n {0,3}/gu, "\n"));
  };
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    say(child.from);
    at = child.to;
    if (marks.has(child.name)) {
      if (child.name === "HeaderMark" || child.name === "QuoteMark" || child.name === "TaskMarker")
        at += /^\s*/u.exec(source.text.slice(at, node.to))?.[0].length ?? 0;
      continue;
    }
    found.push(<Fragment key={child.from}>{span(child, source, depth + 1)}</Fragment>);
  }
  say(node.to);
  const last = found.at(-1);
  if (node.name.includes("Heading") && typeof last === "string") found[found.length - 1] = last.trimEnd();
  return found;
}

function span(node: SyntaxNode, source: Source, depth: number): ReactNode {
  switch (node.name) {
    case "Emphasis":
      return <em>{inline(node, source, depth)}</em>;
    case "StrongEmphasis":
      return <strong>{inline(node, source, depth)}</strong>;
    case "Strikethrough":
      return <del>{inline(node, source, depth)}</del>;
    case "InlineCode":
      return <code className="inline-code">{inlineCode(slice(node, source))}</code>;
    case "Escape":
      return slice(node, source).slice(1);
    case "Entity":
      return entity(slice(node, source));
    case "HardBreak":
      return <br />;
    case "Link":
      return link(node, source, depth);
    case "Image":
      return image(node, source);
    case "Autolink":
    case "URL":
      return anchor(slice(node, source).replaceAll(/^<|>$/gu, ""), slice(node, source).replaceAll(/^<|>$/gu, ""));
    default:
      // Tags of HTML and whatever else there may be are texts.
      return node.firstChild === null || node.name.startsWith("HTML")
        ? slice(node, source)
        : inline(node, source, depth);
  }
}

function inlineCode(text: string): string {
  const ticks = /^`+/u.exec(text)?.[0].length ?? 0;
  const inside = text.slice(ticks, -ticks).replaceAll("\n", " ");
  return /^ .*[^ ].* $/u.test(inside) ? inside.slice(1, -1) : inside;
}

function addressOf(node: SyntaxNode, source: Source): string | undefined {
  const url = node.getChild("URL");
  if (url !== null) return slice(url, source);
  const label = node.getChild("LinkLabel");
  const name =
    label === null
      ? slice(node, source)
          .replace(/^!?\[/u, "")
          .replace(/\](\[\])?$/u, "")
      : slice(label, source).slice(1, -1);
  return source.definitions.get(name.trim().toLowerCase());
}

function link(node: SyntaxNode, source: Source, depth: number): ReactNode {
  const address = addressOf(node, source);
  if (address === undefined) return slice(node, source);
  const words: ReactNode[] = [];
  const [open, close] = node.getChildren("LinkMark");
  let at = open?.to ?? node.from;
  const end = close?.from ?? node.to;
  for (let child = node.firstChild; child !== null && child.from < end; child = child.nextSibling) {
    if (child.name === "LinkMark") continue;
    words.push(
      source.text.slice(at, child.from),
      <Fragment key={child.from}>{span(child, source, depth + 1)}</Fragment>,
    );
    at = child.to;
  }
  words.push(source.text.slice(at, end));
  return anchor(address, words);
}

function anchor(address: string, words: ReactNode): ReactNode {
  const withScheme = /^www\./iu.test(address)
    ? `https://${address}`
    : /^[^\s/@:]+@[^\s/@]+$/u.test(address)
      ? `mailto:${address}`
      : address;
  const target = targetOf(withScheme);
  if (target.kind === "file")
    return (
      <span className="md-path" title={target.path}>
        {words}
      </span>
    );
  if (target.kind === "none") return <span title={address}>{words}</span>;
  return (
    <a href={target.address} target="_blank" rel="noreferrer noopener" title={target.host} className="md-link">
      {words}
    </a>
  );
}

/** Pictures of other hosts are not loaded: their address could carry words of the conversation away. */
function image(node: SyntaxNode, source: Source): ReactNode {
  const address = addressOf(node, source) ?? "";
  const words = /^!\[([^\]]*)\]/u.exec(slice(node, source))?.[1] ?? "";
  const target = targetOf(address);
  if (target.kind !== "web") return <span className="md-path">{words === "" ? address : words}</span>;
  return (
    <a href={target.address} target="_blank" rel="noreferrer noopener" className="md-picture">
      {words === "" ? target.host : `${words} · ${target.host}`}
    </a>
  );
}
