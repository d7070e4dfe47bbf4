import { strokeFont, unknownSign } from "./stroke-font.ts";

/** Relative to the font size: horizontal and vertical unit, advance, and stroke width. */
const [across, down, advance, thickness] = [0.1, 0.12, 0.6, 0.09];
const defaultSize = 12;

const entities: ReadonlyMap<string, string> = new Map([
  ["&amp;", "&"],
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&quot;", '"'],
]);

/** Draws a picture's texts as lines, so that it needs no font. For pictures of `plotSvg`, whose structure is known. */
export function strokedTexts(svg: string): string {
  return svg.replaceAll(/<text ([^>]*)>([^<]*)<\/text>/gu, (_, attributes: string, content: string) =>
    stroked(
      content.replaceAll(/&\w+;/gu, (entity) => entities.get(entity) ?? entity),
      (name) => new RegExp(`(?:^| )${name}="([^"]*)"`, "u").exec(attributes)?.[1],
    ),
  );
}

function stroked(text: string, attribute: (name: string) => string | undefined): string {
  const size = Number(attribute("font-size") ?? defaultSize);
  const signs = Array.from(text);
  const width = Math.max(0, signs.length * advance - (advance - 4 * across)) * size;
  const shift = { middle: width / 2, end: width }[attribute("text-anchor") ?? ""] ?? 0;
  const left = Number(attribute("x")) - shift;
  const line = Number(attribute("y"));
  const path = signs
    .flatMap((sign, place) => pathOf(strokeFont.get(sign) ?? unknownSign, left + place * advance * size, line, size))
    .join("");
  const transform = attribute("transform");
  return [
    `<path d="${path}" fill="none" stroke="${attribute("fill") ?? "#000"}" stroke-width="${(thickness * size).toFixed(2)}"`,
    ` stroke-linecap="round" stroke-linejoin="round"${transform === undefined ? "" : ` transform="${transform}"`}/>`,
  ].join("");
}

function pathOf(sign: string, left: number, line: number, size: number): string[] {
  const strokes = sign === "" ? [] : sign.split(",");
  return strokes.map((stroke) => {
    const points = stroke.split(" ").map((point) => {
      const x = left + Number(point[0]) * across * size;
      const y = line + (Number(point[1]) - 6) * down * size;
      return `${x.toFixed(2)} ${y.toFixed(2)}`;
    });
    return `M${points.join("L")}`;
  });
}
