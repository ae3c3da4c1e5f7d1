// Starts the map that is taken away as a file.
(() => {
  const { map: data, list } = JSON.parse(document.getElementById("data").textContent);
  const map = L.map("map", { center: [35, 105], zoom: 4, maxZoom: 19 });
  L.control.scale().addTo(map);
  const parentElement = document.getElementById("list");
  const rows = (picked) => sightline.list({ data: { ...list, picked }, parentElement, setTriggerValue });
  const setTriggerValue = (_, { n, turn }) => sightline.show(map, data, { n, turn });
  sightline.told = ({ n }) => rows(n);
  sightline.show(map, data, null);
  rows(0);
})();
