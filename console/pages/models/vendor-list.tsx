import { useTranslation } from "react-i18next";
import { useProviders } from "../../api/shaping/models.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListEntry } from "../list-and-one.tsx";

/** The vendors of models, those that can be asked first. */
export function VendorList({ current, onOpen }: { current: string | undefined; onOpen: (name: string) => void }) {
  const { t } = useTranslation(manage);
  const { data, error, isPending, refetch } = useProviders();
  const lacksKey = ({ needs_key, key }: NonNullable<typeof data>[number]) => needs_key && key?.is_set !== true;
  const vendors = (data ?? []).toSorted((one, other) => Number(lacksKey(one)) - Number(lacksKey(other)));
  return (
    <>
      {isPending && <Loading lines={6} />}
      {error !== null && data === undefined && <Failed error={error} onRetry={() => void refetch()} />}
      <ul>
        {vendors.map((vendor) => (
          <li key={vendor.name}>
            <ListEntry
              title={visible(vendor.title)}
              name={visible(vendor.name)}
              isHere={vendor.name === current}
              chip={lacksKey(vendor) ? t("models.noKey") : undefined}
              onOpen={() => onOpen(vendor.name)}
            />
          </li>
        ))}
      </ul>
    </>
  );
}
