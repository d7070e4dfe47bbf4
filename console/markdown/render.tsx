import type { SyntaxNode } from "@lezer/common";
import i18next from "i18next";
import { Fragment, type ReactNode } from "react";
import { anchor, picture } from "./anchor.tsx";
import { CodeBlock } from "./code.tsx";
import { entity } from "./entities.ts";
import { InlineCode } from "./file-link.tsx";
import { Formula } from "./formula.tsx";
import { marks } from "./marks.ts";
import { formulaIn } from "./math.ts";
import { parser } from "./parser.ts";

/** What the renderer reads beside the tree. */
interface Source {
  text: string;
  /** Headings of the text that a heading stands below. */
  depth: number;
  definitions: ReadonlyMap<string, string>;
  isOpen: boolean;
}

/** Depth of nesting from which what is inside is shown as its text: a tree of a million levels is no text for people. */
const deepest = 60;
const headings = ["h3", "h4", "h5", "h6"] as const;

/** A block of Markdown as React elements; there is no way from it to HTML. */
export function renderBlock(text: string, about: Omit<Source, "text">): ReactNode {
  const source: Source = { text, ...about };
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
    case "ATXHeading2":
    case "SetextHeading2":
    case "ATXHeading3":
    case "ATXHeading4":
    case "ATXHeading5":
    case "ATXHeading6":
      return heading(node, source, depth);
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
    case "FormulaBlock":
      return formula(node, source);
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

/** A heading as large as it is meant, at the level that follows from those above it: those of the page are 1 and 2. */
function heading(node: SyntaxNode, source: Source, depth: number): ReactNode {
  const Heading = headings[Math.min(source.depth, headings.length - 1)] ?? "h3";
  const size = Math.min(4, Number(node.name.slice(-1)));
  return <Heading className={`md-${size}`}>{inline(node, source, depth)}</Heading>;
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

function formula(node: SyntaxNode, source: Source): ReactNode {
  const written = slice(node, source);
  const found = formulaIn(written);
  if (found === undefined) return <p className="formula-source">{written}</p>;
  return <Formula source={written} {...found} />;
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
    <div className="md-table" tabIndex={0} role="group" aria-label={i18next.t("code.table")}>
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
      return <InlineCode text={inlineCode(slice(node, source))} />;
    case "Formula":
      return formula(node, source);
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

function image(node: SyntaxNode, source: Source): ReactNode {
  return picture(addressOf(node, source) ?? "", /^!\[([^\]]*)\]/u.exec(slice(node, source))?.[1] ?? "");
}
