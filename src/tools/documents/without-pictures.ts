/** Elements that would load something, or run. */
const loading = /<(script|iframe|object|embed|video|audio|link|source|base)\b[^>]*>(?:[\s\S]*?<\/\1\s*>)?/giu;
const image = /<img\b((?:[^>"']|"[^"]*"|'[^']*')*)>/giu;
/** Code stays as it is; a picture of Markdown. */
const codeOrPicture = /(```[\s\S]*?```|~~~[\s\S]*?~~~|`[^`\n]*`)|!\[([^\]\n]*)\]\(\s*<?([^)\s>]*)[^)\n]*\)/gu;
/** Whether the address of a picture is the picture itself, so that nothing has to be fetched. */
export function isOwnPicture(address: string): boolean {
  return /^data:image\/(?:png|jpe?g|gif|bmp);base64,/iu.test(address);
}

/**
 * A text of HTML or Markdown without what would be fetched from somewhere: a model's text must not make the server ask the web or
 * read its files (S13). Pictures leave their words. `pictures` is how many were left out.
 */
export function withoutPictures(content: string): { content: string; pictures: number } {
  let pictures = 0;
  const words = (alt: string): string => {
    pictures += 1;
    return alt.trim() === "" ? "" : `[${alt.trim()}]`;
  };
  const plain = content.replaceAll(codeOrPicture, (whole, code: string | undefined, alt: string, target: string) =>
    code !== undefined || isOwnPicture(target) ? whole : words(alt),
  );
  const kept = plain.replaceAll(loading, "").replaceAll(image, (whole, attributes: string) => {
    if (isOwnPicture(valueOf(attributes, "src"))) return whole;
    return words(valueOf(attributes, "alt"));
  });
  return { content: kept, pictures };
}

function valueOf(attributes: string, name: string): string {
  const found = new RegExp(String.raw`(?:^|\s)${name}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))`, "iu").exec(attributes);
  return found?.[1] ?? found?.[2] ?? found?.[3] ?? "";
}
