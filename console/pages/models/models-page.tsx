import Bot from "icon:bot";
import Plus from "icon:plus";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useCaller } from "../../api/threads.ts";
import { modelAddress, statisticsAddress, vendorAddress } from "../../app/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListAndOne, Segments } from "../list-and-one.tsx";
import { ReadOnly } from "../read-only.tsx";
import { AddModel } from "./add-model.tsx";
import { ModelList } from "./model-list.tsx";
import { ModelView } from "./model-view.tsx";
import { RoleTable } from "./role-table.tsx";
import { StatisticsView } from "./statistics/statistics-view.tsx";
import { AddVendor } from "./vendor-form.tsx";
import { VendorList } from "./vendor-list.tsx";
import { VendorView } from "./vendor-view.tsx";

/** Which part of it is shown. */
export type ModelsPart = "models" | "vendors" | "roles" | "statistics";

/** Models and their vendors: what each can do, what it is used for, how it is reached. */
export function ModelsPage({ part, name }: { part: ModelsPart; name?: string | undefined }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [adding, setAdding] = useState<"model" | "vendor">();
  const mayChange = useCaller().data?.may_administer !== false;
  const segments = [
    { label: t("models.all"), address: modelAddress(), isHere: part === "models" },
    { label: t("models.vendors"), address: vendorAddress(), isHere: part === "vendors" },
    { label: t("models.uses"), address: "/roles", isHere: part === "roles" },
    { label: t("models.numbers"), address: statisticsAddress(), isHere: part === "statistics" },
  ];
  const isList = part === "models" || part === "vendors";
  const add = mayChange && isList && (
    <Button size="small" onClick={() => setAdding(part === "models" ? "model" : "vendor")}>
      <Plus size={15} /> {t(part === "models" ? "model.add" : "models.addVendor")}
    </Button>
  );
  const isOfModels = part === "models";
  return (
    <>
      {!isList ? (
        <div className="shaping">
          <header className="page-head">
            <h1>{t("models.title")}</h1>
            <Segments label={t("models.parts")} segments={segments} />
          </header>
          {part === "roles" ? <RoleTable mayChange={mayChange} /> : <StatisticsView />}
        </div>
      ) : (
        <ListAndOne
          title={t("models.title")}
          segments={segments}
          segmentsLabel={t("models.parts")}
          back={isOfModels ? modelAddress() : vendorAddress()}
          isOpen={name !== undefined}
          actions={add}
          note={<ReadOnly />}
          list={
            isOfModels ? (
              <ModelList current={name} onOpen={(one) => navigate(modelAddress(one))} />
            ) : (
              <VendorList current={name} onOpen={(one) => navigate(vendorAddress(one))} />
            )
          }
        >
          {name === undefined ? (
            <Empty
              icon={<Bot />}
              title={t(isOfModels ? "models.choose" : "models.chooseVendor")}
              hint={t(isOfModels ? "models.chooseHint" : "models.chooseVendorHint")}
            />
          ) : isOfModels ? (
            <ModelView key={name} name={name} mayChange={mayChange} />
          ) : (
            <VendorView key={name} name={name} mayChange={mayChange} />
          )}
        </ListAndOne>
      )}
      {adding === "model" && (
        <AddModel onClose={() => setAdding(undefined)} onAdded={(one) => navigate(modelAddress(one))} />
      )}
      {adding === "vendor" && <AddVendor onClose={() => setAdding(undefined)} />}
    </>
  );
}
