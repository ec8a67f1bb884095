"""Small models: pruning while a network is trained, and packed weights.

    tr.compression.add_masks(model.program)
    model.compile("adam", "cross_entropy")
    model.fit(x, y, callbacks=[tr.compression.Pruning(sparsity=0.9, end=2000)])
    small = tr.compression.pack_weights(model.program, model.session, model.outputs)
"""

from trireme._core import (ChannelGroup, ChannelModel, FactorizedModel, FactorizedWeight,
                           PackedModel, PackedWeight, Pruning, Rewinding, Teacher, add_masks,
                           apply_masks, factorize, mask_sparsity, pack_weights, product_quantize,
                           prune_channels, update_masks)

__all__ = ["ChannelGroup", "ChannelModel", "FactorizedModel", "FactorizedWeight", "PackedModel",
           "PackedWeight", "Pruning", "Rewinding", "Teacher", "add_masks", "apply_masks", "factorize",
           "mask_sparsity", "pack_weights", "product_quantize", "prune_channels", "update_masks"]
