// Draws places on a Leaflet map: in the page's frame, and in the map that is taken away as a file.
// Every text becomes a text node or an attribute: nothing from outside is markup, nothing is run.
// sightline.show(map, data, pick) can be called again and again: what has not changed stays as it is,
// and the view moves only if other places are shown or one is picked from outside the map.

const sightline = (() => {
  const FITS = { paddingTopLeft: [18, 18], paddingBottomRight: [48, 18], maxZoom: 16, animate: false };
  const LABELLED = 6; // ways with a permanent label
  const NAMED = 150; // pins in view; names on more would be a thicket

  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text) node.textContent = text;
    return node;
  };

  const link = (text, url) => {
    const node = make("a", "", text);
    if (/^https?:\/\/[^\s\\]+$/i.test(url)) {
      node.href = url;
      node.target = "_blank";
      node.rel = "noopener noreferrer";
    }
    return node;
  };

  const Pin = L.DivIcon.extend({
    createIcon() {
      const { n, name, colour } = this.options;
      const pin = make("div");
      const dot = make("span", "sl-dot", String(n));
      dot.style.background = colour;
      const label = make("bdi", "sl-name", name);
      pin.append(dot, label);
      pin.setAttribute("aria-label", `${n} ${name}`);
      this._setIconStyles(pin, "icon");
      return pin;
    },
  });

  const Grid = L.GridLayer.extend({ createTile: () => make("div", "sl-cell") });

  const pinned = (point, n, data, className) => {
    const [lat, lng, kind, name] = point;
    const icon = new Pin({ n, name, colour: data.colours[kind], iconSize: [26, 26], className });
    return L.marker([lat, lng], { icon, riseOnHover: true });
  };

  // What stands in the balloon of a place: its details, or the little that is known without them.
  const balloon = (data, n, details) => {
    const [, , , name, note, lines = details?.lines, links = details?.links] = data.points[n - 1];
    const box = make("div", "sl-balloon");
    const head = make("strong", "", `${n} `);
    head.append(make("bdi", "", name));
    box.append(head);
    for (const line of lines ?? [note]) if (line) box.append(make("div", "", line));
    const ways = make("div", "sl-ways");
    for (const [text, url] of links ?? []) ways.append(link(text, url));
    if (ways.childElementCount) box.append(ways);
    return box;
  };

  // Names that would cover a pin or another name are left out.
  const declutter = (map) => {
    const pins = [...map.getContainer().querySelectorAll(".sl-pin")];
    map.getContainer().classList.toggle("sl-nameless", pins.length > NAMED);
    if (pins.length > NAMED) return;
    const taken = [...map.getContainer().querySelectorAll(".sl-dot, .sl-cluster")].map((dot) =>
      dot.getBoundingClientRect());
    pins.sort((a, b) => b.classList.contains("sl-picked") - a.classList.contains("sl-picked"));
    for (const pin of pins) {
      const name = pin.querySelector(".sl-name");
      const box = name.getBoundingClientRect();
      const free = taken.every((other) =>
        other.right <= box.left || other.left >= box.right ||
        other.bottom <= box.top || other.top >= box.bottom);
      name.classList.toggle("sl-covered", !free);
      if (free) taken.push(box);
    }
  };

  const soon = (map) => {
    cancelAnimationFrame(map.sightline.frame);
    map.sightline.frame = requestAnimationFrame(() => declutter(map));
  };

  const fit = (map) => {
    const { data } = map.sightline;
    const bounds = L.latLngBounds(data.points.map(([lat, lng]) => [lat, lng]));
    for (const { line } of data.ways) for (const point of line) bounds.extend(point);
    for (const [lat, lng, radius] of data.circles) {
      bounds.extend(L.latLng(lat, lng).toBounds(2 * Math.max(radius, 50)));
    }
    map.sightline.fitted = map.getSize().x > 0 && map.getSize().y > 0;
    if (bounds.isValid()) map.fitBounds(bounds, FITS);
  };

  const dark = () => {
    const ink = getComputedStyle(document.body).color.match(/[\d.]+/g);
    document.documentElement.classList.toggle("sl-dark", ink[0] * 3 + ink[1] * 6 + +ink[2] > 1280);
  };

  const prepare = (map) => {
    const state = { layers: L.layerGroup().addTo(map), base: L.layerGroup().addTo(map) };
    map.sightline = state;
    const box = map.getContainer(); // its focus would scroll the page away under the first click
    box.focus = () => HTMLElement.prototype.focus.call(box, { preventScroll: true });
    map.attributionControl.setPrefix(
      '<a href="https://leafletjs.com" target="_blank" rel="noopener">Leaflet</a>');
    new Grid({ pane: "tilePane", zIndex: 0 }).addTo(map);
    state.tip = L.tooltip({ direction: "top", offset: [0, -12], className: "sl-tip" });
    state.popup = L.popup({ offset: [0, -6], maxWidth: 280, minWidth: 160, maxHeight: 230 });
    map.on("moveend zoomend", () => soon(map));
    map.on("click", ({ latlng }) => pointed(map, latlng.wrap()));
    new ResizeObserver(() => {
      map.invalidateSize({ pan: false });
      if (!state.fitted && state.data) fit(map);
    }).observe(map.getContainer());
    addEventListener("message", () => setTimeout(dark));
    dark();
    return state;
  };

  const base = (map, tiles) => {
    const state = map.sightline;
    const wanted = JSON.stringify(tiles);
    if (state.tiles === wanted) return;
    state.tiles = wanted;
    state.base.clearLayers();
    map.getContainer().classList.toggle("sl-bare", !tiles);
    if (state.note) state.note.remove();
    if (!tiles) return;
    const { url, lost, ...options } = tiles;
    const layer = L.tileLayer(url, { ...options, className: "sl-tiles" });
    state.note = L.control({ position: "topright" });
    state.note.onAdd = () => make("div", "sl-lost", lost);
    layer.on("tileerror", () => state.note._map || state.note.addTo(map));
    layer.on("tileload", () => state.note.remove());
    state.base.addLayer(layer);
  };

  // The point of a line where a share of its length lies behind.
  const along = (line, share) => {
    const far = ([a, b], [c, d]) => Math.hypot(c - a, (d - b) * Math.cos((a * Math.PI) / 180));
    const gaps = line.slice(1).map((point, at) => far(line[at], point));
    let left = share * gaps.reduce((sum, gap) => sum + gap, 0);
    for (const [at, gap] of gaps.entries()) {
      if (gap && left <= gap) return line[at].map((part, n) => part + (left / gap) * (line[at + 1][n] - part));
      left -= gap;
    }
    return line[line.length - 1];
  };

  // A way: its pattern says how it is made, and a word beside it as well.
  const drawWay = (state, { line, means, direct, name, ends }, at, all) => {
    const kind = `sl-way sl-${means}${direct ? " sl-direct" : ""}`;
    for (const className of ["sl-casing", kind]) {
      state.layers.addLayer(L.polyline(line, { interactive: false, className }));
    }
    if (means === "transit" && !direct) {
      state.layers.addLayer(L.polyline(line, { interactive: false, className: "sl-sleepers" }));
    }
    if (all <= LABELLED) {
      const icon = L.divIcon({ html: make("span", "", name), className: "sl-length", iconSize: [0, 0] });
      const middle = along(line, (at + 1) / (all + 1));
      state.layers.addLayer(L.marker(middle, { icon, interactive: false, keyboard: false }));
      return;
    }
    const label = make("div");
    label.append(make("b", "", `${name} `), make("bdi", "", ends));
    const wide = L.polyline(line, { className: "sl-touch" });
    state.layers.addLayer(wide.bindTooltip(label, { sticky: true, className: "sl-tip" }));
  };

  const draw = (map, data) => {
    const state = map.sightline;
    if (state.data?.of === data.of) return;
    const moved = state.data?.view !== data.view;
    for (const credit of state.data?.credits ?? []) map.attributionControl.removeAttribution(credit);
    for (const credit of data.credits) map.attributionControl.addAttribution(credit);
    state.data = data;
    state.layers.clearLayers();
    state.ring = undefined;
    map.closePopup(state.popup);
    if (moved) fit(map);
    for (const [lat, lng, radius, name] of data.circles) {
      if (radius) {
        state.layers.addLayer(L.circle([lat, lng], { radius, interactive: false, className: "sl-circle" }));
      }
      const icon = L.divIcon({ html: make("bdi", "", name), className: "sl-centre", iconSize: [14, 14] });
      state.layers.addLayer(L.marker([lat, lng], { icon, interactive: false, keyboard: false }));
    }
    data.ways.forEach((way, at) => drawWay(state, way, at, data.ways.length));
    const markers = data.points.map((point, at) => {
      const marker = pinned(point, at + 1, data, "sl-pin");
      marker.sightline = at + 1;
      return marker;
    });
    const group = data.ordered ? L.featureGroup(markers) : L.markerClusterGroup({
      chunkedLoading: markers.length > 2000,
      maxClusterRadius: markers.length > 200 ? 60 : 26,
      showCoverageOnHover: false,
      iconCreateFunction: (cluster) => L.divIcon({
        html: make("span", "", String(cluster.getChildCount())),
        className: "sl-cluster",
        iconSize: cluster.getChildCount() > 99 ? [40, 40] : [34, 34],
      }),
    });
    if (!data.ordered) group.addLayers(markers);
    group.on("click", ({ layer }) => chosen(map, layer.sightline));
    group.on("mouseover", ({ layer }) => hint(map, layer));
    group.on("mouseout", () => state.tip.remove());
    group.on("animationend", () => soon(map));
    state.layers.addLayer(group);
    soon(map);
  };

  const hint = (map, marker) => {
    const [, , , name, note] = map.sightline.data.points[marker.sightline - 1];
    const box = make("div");
    box.append(make("b", "", `${marker.sightline} `), make("bdi", "", name));
    if (note) box.append(make("div", "", note));
    map.sightline.tip.setContent(box).setLatLng(marker.getLatLng()).addTo(map);
  };

  const ring = (map, n) => {
    const state = map.sightline;
    if (state.ring?.sightline === n) return;
    state.ring?.remove();
    state.ring = undefined;
    if (!n) return;
    state.ring = pinned(state.data.points[n - 1], n, state.data, "sl-pin sl-picked");
    state.ring.setZIndexOffset(2000);
    state.ring.sightline = n;
    state.ring.on("click", () => chosen(map, n));
    state.layers.addLayer(state.ring);
    soon(map);
  };

  const open = (map, n, details, autoPan) => {
    const { popup, data, tip } = map.sightline;
    tip.remove();
    popup.options.autoPan = autoPan;
    popup.place = n;
    const [lat, lng] = data.points[n - 1];
    popup.setLatLng([lat, lng]).setContent(balloon(data, n, details)).openOn(map);
  };

  // A click on a marker: shown at once, and told to whoever wants to know.
  const chosen = (map, n) => {
    const state = map.sightline;
    state.turn = Date.now();
    ring(map, n);
    open(map, n, undefined, true);
    sightline.told({ n, of: state.data.of, turn: state.turn });
  };

  // A click beside the places, where somebody wants to know of it.
  const pointed = (map, { lat, lng }) => {
    const { data } = map.sightline;
    if (data?.clicks) sightline.told({ at: [lat, lng], of: data.of, turn: Date.now() });
  };

  const pick = (map, wanted) => {
    const state = map.sightline;
    const n = wanted && state.data.points[wanted.n - 1] ? wanted.n : 0;
    if (n && wanted.turn < state.turn) return; // an answer to an older click
    ring(map, n);
    if (!n) {
      map.closePopup(state.popup);
    } else if (wanted.turn !== state.turn) {
      state.turn = wanted.turn;
      const [lat, lng] = state.data.points[n - 1];
      open(map, n, wanted, false);
      map.panTo([lat, lng]);
    } else if (state.popup.isOpen() && state.popup.place === n && wanted.lines) {
      state.popup.setContent(balloon(state.data, n, wanted));
    }
  };

  const show = (map, data, wanted) => {
    if (!map.sightline) prepare(map);
    map.getContainer().lang = data.lang;
    map.getContainer().classList.toggle("sl-clicks", data.clicks);
    base(map, data.tiles);
    draw(map, data);
    pick(map, wanted);
  };

  return { show, pick, make, told: (choice) => window.Streamlit?.setComponentValue(choice) };
})();
window.sightline = sightline;
