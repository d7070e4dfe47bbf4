/** What a curve or an axis looks like is a matter of the sheets, which a picture does not have. */
const looks = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "font-family",
  "font-size",
] as const;
const namespace = "http://www.w3.org/2000/svg";
/** Height of a line of words above the drawings, the room around everything, and pixels for each point. */
const [lineHeight, room, density] = [20, 14, 2];

/** Drawings of the page below one another as a PNG, with a title and a line for each named curve above them. */
export async function pictureOf(title: string, drawings: readonly SVGSVGElement[]): Promise<Blob> {
  const { color, backgroundColor, fontFamily } = getComputedStyle(document.body);
  const curves = drawings.flatMap((drawing) => [...drawing.querySelectorAll<SVGPathElement>("path[data-hue]")]);
  const width = Math.max(0, ...drawings.map((drawing) => drawing.clientWidth)) + 2 * room;
  let top = room;
  const words = (text: string, left: number) => {
    top += lineHeight;
    const place = { x: left, y: top - 6, fill: color, "font-family": fontFamily, "font-size": 13 };
    const element = made("text", place);
    element.textContent = text;
    return element;
  };
  const parts: Element[] = [words(title, room)];
  for (const curve of curves) {
    const name = words(curve.querySelector("title")?.textContent ?? "", room + 36);
    const sample = made("path", { d: `M${room} ${top - 10}h28` });
    dress(sample, curve);
    parts.push(name, sample);
  }
  for (const drawing of drawings) {
    const copy = document.importNode(drawing, true);
    const [from, to] = [drawing, copy].map((one) => [one, ...one.querySelectorAll("*")]);
    for (const [at, element] of (to ?? []).entries()) dress(element, from?.[at]);
    copy.setAttribute("x", String(room));
    copy.setAttribute("y", String(top));
    parts.push(copy);
    top += drawing.clientHeight;
  }
  const height = top + room;
  const whole = made("svg", { width, height });
  whole.append(made("rect", { width, height, fill: backgroundColor }), ...parts);
  return await rasterized(new XMLSerializer().serializeToString(whole), width, height);
}

function made(name: string, attributes: Record<string, string | number>): Element {
  const element = document.createElementNS(namespace, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, String(value));
  return element;
}

/** Gives an element the looks of another one. */
function dress(element: Element, like: Element | undefined): void {
  if (like === undefined) return;
  const style = getComputedStyle(like);
  for (const look of looks) element.setAttribute(look, style.getPropertyValue(look));
}

async function rasterized(drawing: string, width: number, height: number): Promise<Blob> {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * density;
  canvas.height = height * density;
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const { promise, resolve, reject } = Promise.withResolvers<Blob>();
  canvas.toBlob((bytes) => (bytes === null ? reject(new Error("The picture is too large.")) : resolve(bytes)));
  return await promise;
}
