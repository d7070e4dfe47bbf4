import { z } from "zod";
import { sizeOfDataUrl, type ImageSize } from "./image-size.ts";

/** `low` has a fixed price; `auto` is `low` for images of one tile. */
export const ImageDetail = z.enum(["low", "high", "auto"]);
export type ImageDetail = z.infer<typeof ImageDetail>;

const base = 85;
const perTile = 170;
const tile = 512;
const maxSidePixels = 4096;
/** Assumed size of an image of unknown size. */
const defaultSize: ImageSize = { width: 1024, height: 1024 };

/**
 * Tokens of an image: 85, plus 170 per 512-pixel tile after scaling to at most 4096 pixels. Only OpenAI's models have
 * `low`; `zhipu:` models always use `high`.
 */
export function countImage(size: ImageSize, detail: ImageDetail = "high", model = ""): number {
  const isSmall = size.width <= tile && size.height <= tile;
  const isLow = detail === "low" || (detail === "auto" && isSmall);
  if (isLow && !model.startsWith("zhipu:")) return base;
  const scale = Math.min(1, maxSidePixels / Math.max(size.width, size.height));
  const across = Math.ceil(Math.round(size.width * scale) / tile);
  const down = Math.ceil(Math.round(size.height * scale) / tile);
  return base + Math.max(1, across) * Math.max(1, down) * perTile;
}

/** Image parts in LangChain's and OpenAI's formats. */
const ImagePart = z.union([
  z.looseObject({
    type: z.literal("image_url"),
    image_url: z.union([
      z.string().transform((url) => ({ url, detail: undefined })),
      z.looseObject({ url: z.string(), detail: ImageDetail.optional().catch(undefined) }),
    ]),
  }),
  z
    .looseObject({ type: z.literal("image"), data: z.string().optional(), mime_type: z.string().optional() })
    .transform(({ data, mime_type }) => ({
      image_url: {
        url: data === undefined ? "" : `data:${mime_type ?? "image/png"};base64,${data}`,
        detail: undefined,
      },
    })),
]);

/** Tokens of an image part; `undefined` for other parts. */
export function countImagePart(part: unknown): number | undefined {
  const image = ImagePart.safeParse(part);
  if (!image.success) return undefined;
  const { url, detail } = image.data.image_url;
  return countImage(sizeOfDataUrl(url) ?? defaultSize, detail);
}
