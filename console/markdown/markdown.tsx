import { memo, useMemo, useState } from "react";
import { blocksOf, definitionsOf, growingParser } from "./parser.ts";
import { renderBlock } from "./render.tsx";
import { Words } from "../parts/words.tsx";
import { settled } from "./settle.ts";

/** Characters of a block beyond which it is shown as plain text. */
const maxBlockLength = 100_000;
const noDefinitions: ReadonlyMap<string, string> = new Map();

/** A text in Markdown. While it is being written (`isOpen`), only what was added is read and drawn. */
export const Markdown = memo(function Markdown({ text, isOpen = false }: { text: string; isOpen?: boolean }) {
  const [parse] = useState(growingParser);
  const { blocks, definitions } = useMemo(() => {
    const parsed = parse(isOpen ? settled(text) : text);
    return { blocks: blocksOf(parsed), definitions: text.includes("]:") ? definitionsOf(parsed) : noDefinitions };
  }, [text, isOpen, parse]);
  const last = blocks.length - 1;
  return (
    <div className="md">
      {blocks.map(({ source, from, depth }, index) => (
        <MarkdownBlock
          key={from}
          source={source}
          depth={depth}
          definitions={definitions}
          isOpen={isOpen && index === last}
        />
      ))}
    </div>
  );
});

const MarkdownBlock = memo(
  function MarkdownBlock({
    source,
    depth,
    definitions,
    isOpen,
  }: {
    source: string;
    depth: number;
    definitions: ReadonlyMap<string, string>;
    isOpen: boolean;
  }) {
    if (source.length > maxBlockLength)
      return (
        <pre className="md-long">
          <Words text={source} />
        </pre>
      );
    return renderBlock(source, { depth, definitions, isOpen });
  },
  (one, other) =>
    one.source === other.source &&
    one.depth === other.depth &&
    one.isOpen === other.isOpen &&
    sameDefinitions(one.definitions, other.definitions),
);

function sameDefinitions(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one === other || (one.size === other.size && [...one].every(([name, address]) => other.get(name) === address));
}
