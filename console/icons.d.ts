/** An icon of Lucide by its name, as `vite.config.ts` makes it of the data of the icons. */
declare module "icon:*" {
  import type { FC } from "react";
  import type { IconProps } from "./parts/icon.tsx";

  const Icon: FC<IconProps>;
  export default Icon;
}
